// Room for many machines on one kernel: systemd has some seven inotify instances in each machine, an agent some more, and all of root's machines share one limit, by
// default 128. The eighteenth machine, or one that boots again after agents were started, then ends at once with code 255.
import { readFileSync, writeFileSync } from 'node:fs'

const LIMIT = '/proc/sys/fs/inotify/max_user_instances'
const OF_A_MACHINE = 24
/** What else runs here as root. */
const BESIDE = 128

/** Returns what sets the limit back. Throws where it cannot be raised. */
export function withInotifyFor(machines: number): () => void {
  const before = Number(readFileSync(LIMIT, 'utf8'))
  const needed = BESIDE + machines * OF_A_MACHINE
  if (before >= needed) return () => undefined
  writeFileSync(LIMIT, String(needed))
  return () => writeFileSync(LIMIT, String(before))
}
