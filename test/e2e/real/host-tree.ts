// Everything that a hand-back has to leave as it was: paths of a machine with content, mode, owner and targets of links.
import { lstatSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '#lib/sha256.ts'

/** Where programs of nodes, their configuration and units are; what a running system writes by itself is left out. */
const PLACES = [
  'etc',
  'opt',
  'usr/bin',
  'usr/sbin',
  'usr/lib/systemd',
  'usr/local',
  'var/lib/kubelet',
  'var/lib/kubenode',
]
const BY_ITSELF =
  /^\/etc\/(machine-id|hostname|\.updated|\.pwd\.lock|ld\.so\.cache|mtab|resolv\.conf|localtime|adjtime)/

export function hostTree(root: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const place of PLACES) walk(root, `/${place}`, found)
  return found
}

function walk(root: string, path: string, found: Map<string, string>): void {
  if (BY_ITSELF.test(path)) return
  const stat = lstatSync(join(root, path), { throwIfNoEntry: false })
  if (stat === undefined) return
  const as = `${(stat.mode & 0o7777).toString(8)} ${stat.uid}:${stat.gid}`
  if (stat.isSymbolicLink()) found.set(path, `link ${stat.uid}:${stat.gid} ${readlinkSync(join(root, path))}`)
  else if (stat.isFile()) found.set(path, `file ${as} ${sha256Hex(readFileSync(join(root, path)))}`)
  else if (stat.isDirectory()) {
    found.set(path, `folder ${as}`)
    for (const name of readdirSync(join(root, path))) walk(root, `${path}/${name}`, found)
  }
}

/** What differs, one line a path. */
export function differences(
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((path) => before.get(path) !== after.get(path))
    .sort()
    .map((path) => `${path}: ${before.get(path) ?? 'absent'} -> ${after.get(path) ?? 'absent'}`)
}
