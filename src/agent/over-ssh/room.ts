// How much room a file system of a host without an agent has, as `stat` prints it.

export interface Room {
  readonly blocks: number
  readonly bavail: number
  readonly bsize: number
  readonly files: number
  readonly ffree: number
}

/** Followed by a path. */
export const STAT_ROOM = `stat -f -c '%b %a %S %c %d' --`

const ROOM = /^(\d{1,16}) (\d{1,16}) (\d{1,8}) (\d{1,16}) (\d{1,16})$/

export function roomIn(line: string): Room | undefined {
  const found = ROOM.exec(line)
  if (found === null) return undefined
  const [blocks = 0, bavail = 0, bsize = 0, files = 0, ffree = 0] = found.slice(1).map(Number)
  return { blocks, bavail, bsize, files, ffree }
}
