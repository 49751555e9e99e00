// The relevant line of another program's long error.
import { messageOf } from './errors.ts'

/** A failed program's last output line; the first lines of the error repeat its command. */
export const lastLine = (e: unknown): string => messageOf(e).trim().split('\n').at(-1) ?? ''
