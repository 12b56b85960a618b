/** Scripts: scenarios in text, with what came of them. */
export { runScript, type ScriptHeader, type ScriptRun } from './run.ts';
export { writeScript } from './write.ts';
