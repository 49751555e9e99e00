// Paths of the programs that a host process starts.
import { join, parse } from 'node:path'

/** Next to the running one: built files next to a built one. */
export function entryBeside(running: string, name: 'agent-main' | 'hollow-main'): string {
  const { dir, ext } = parse(running)
  return join(dir, `${name}${ext}`)
}
