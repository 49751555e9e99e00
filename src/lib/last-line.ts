// The one line of a long error of another program that people need.
import { messageOf } from './errors.ts'

/** What a program that failed said last; the first lines of the error repeat its command. */
export const lastLine = (e: unknown): string => messageOf(e).trim().split('\n').at(-1) ?? ''
