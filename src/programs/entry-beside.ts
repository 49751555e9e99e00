// Paths of the programs that a host process starts.
import { join, parse } from 'node:path'

/** Next to the running file: a built program starts built files. */
export function entryBeside(running: string, name: 'agent-main' | 'hollow-main'): string {
  const { dir, ext } = parse(running)
  return join(dir, `${name}${ext}`)
}
