// The Debian tree shared by all systemd machines of this host, read-only below their own writes. Built once and reused.
import { access, chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import type { Logger } from '#lib/log.ts'
import { makeOwnedFolder, sweepOwnedFolders } from '#lib/owned-folders.ts'
import { run } from './run.ts'
import { sha256Hex } from '#lib/sha256.ts'

export interface TreeOptions {
  /** Cache of trees, one for each combination of the following. */
  readonly cache: string
  readonly suite?: string
  /** debootstrap's default if left out. */
  readonly mirror?: string
  readonly packages?: readonly string[]
  readonly log: Logger
}

const SUITE = 'bookworm'
/** What turns a minimal Debian into a machine: an init with services and a journal, tools for people, and what the agent's Node needs. */
const PACKAGES = [
  'systemd',
  'systemd-sysv',
  'dbus',
  'iproute2',
  'procps',
  'kmod',
  'ca-certificates',
  'libatomic1',
  // chronyc links against it.
  'libedit2',
] as const
/** About a hundred packages over a slow line. */
const BUILD_WITHIN_MS = 20 * 60_000

/** A marker file written last: a tree without it is incomplete. */
const COMPLETE = 'etc/kubenode-tree'

export function treePath({ cache, suite = SUITE, mirror = '', packages = PACKAGES }: TreeOptions): string {
  const digest = sha256Hex(JSON.stringify([suite, mirror, [...packages].sort()]))
  return join(resolve(cache), `debian-${suite}-${digest.slice(0, 12)}`)
}

export const hasTree = (options: TreeOptions): Promise<boolean> => isThere(join(treePath(options), COMPLETE))

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

export async function ensureTree(options: TreeOptions): Promise<string> {
  const path = treePath(options)
  if (await isThere(join(path, COMPLETE))) return path
  const { suite = SUITE, mirror, packages = PACKAGES, cache, log } = options
  await mkdir(cache, { recursive: true, mode: 0o755 })
  // Concurrent builds use separate folders; the first to finish wins.
  const folders = { parent: cache, prefix: `${basename(path)}.building-`, maxAgeMs: 2 * BUILD_WITHIN_MS }
  sweepOwnedFolders(folders)
  const building = makeOwnedFolder(folders)
  // It becomes the root of machines, which every user must be able to enter.
  await chmod(building, 0o755)
  log.info('building the root file system of systemd machines', { path, suite })
  const args = [
    '--variant=minbase',
    `--include=${packages.join(',')}`,
    suite,
    building,
    ...(mirror === undefined ? [] : [mirror]),
  ]
  try {
    await run('debootstrap', args, { timeoutMs: BUILD_WITHIN_MS })
    await prepare(building)
    await rename(building, path)
  } catch (e) {
    await rm(building, { recursive: true, force: true })
    if (!(await isThere(join(path, COMPLETE)))) throw e
  }
  return path
}

/** Each machine needs its own name and ids; downloaded packages are useless to all. */
async function prepare(tree: string): Promise<void> {
  await rm(join(tree, 'var/cache/apt/archives'), { recursive: true, force: true })
  await rm(join(tree, 'etc/hostname'), { force: true })
  await writeFile(join(tree, 'etc/machine-id'), '')
  await writeFile(join(tree, COMPLETE), 'root file system of systemd machines; shared, read-only\n')
}
