// The former name of log.ts, for those who still import it.
export * from './log.ts'
