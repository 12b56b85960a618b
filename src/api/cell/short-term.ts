/** Terms that are short for the round trips there are: from when on, and how that is said. */
import { formatDuration, spanUs, TenureError } from '../../kernel/index.ts';

/** A term with fewer round trips in it leaves too little room for renewals. */
export const TRIPS_A_TERM = 10;

export function shortTerm(termUs: number, rttUs: number): TenureError {
  const [term, rtt] = [formatDuration(spanUs(termUs)), formatDuration(spanUs(rttUs))];
  return new TenureError(
    'TENURE_SHORT_TERM',
    `a term of ${term} was asked for and round trips take ${rtt}: renewals may come too late. Ask for at least ${TRIPS_A_TERM} round trips`,
    { termUs, rttUs },
  );
}
