// The result codes of SQLite. Its messages quote the file, which another user may have made.

const BUSY = 5
const LOCKED = 6

/** With its extension; 0 for any other error. */
export const sqliteCode = (e: unknown): number =>
  e instanceof Error && 'errcode' in e && typeof e.errcode === 'number' ? e.errcode : 0

export const primaryCode = (code: number): number => code & 0xff

/** Another connection holds the file. */
export const isSqliteBusy = (code: number): boolean => [BUSY, LOCKED].includes(primaryCode(code))
