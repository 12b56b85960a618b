/** Whole numbers as the options of commands have them. */
import { InvalidArgumentError } from 'commander';

/** Reads a number from `min` to `max`, both included; without a `max`, any that is exact. */
export function wholeNumber(min: number, max: number = Number.MAX_SAFE_INTEGER): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min && value <= max) return value;
    const bounds = max === Number.MAX_SAFE_INTEGER ? `from ${min} on` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`a whole number ${bounds} is needed.`);
  };
}
