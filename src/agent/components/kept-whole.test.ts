// Keeping and restoring on a real file system: content, mode, owner, times to the nanosecond, and extended attributes.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { realFiles } from '../files/real.ts'
import { currentLink, nodeDir, onNode, type NodeDir } from '../node-dir.ts'
import { restorePath } from './hand-back.ts'
import { keepOriginals, readKept } from './kept.ts'

let folder = ''
let dir: NodeDir
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-kept-'))
  dir = nodeDir(folder)
  mkdirSync(onNode(dir, '/usr/bin'), { recursive: true })
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const python = (script: string, ...args: string[]) =>
  spawnSync('python3', ['-c', `import os, sys\n${script}`, ...args], { encoding: 'utf8' })
const whyNoAttributes = (): string | undefined => {
  const probe = join(folder, 'probe')
  writeFileSync(probe, '')
  const set = python("os.setxattr(sys.argv[1], 'user.kubenode', b'1')", probe)
  return set.status === 0 ? undefined : 'python3 is not there, or the file system has no extended attributes'
}

/** Everything that a program could notice. */
const seen = (path: string): unknown => {
  const { mode, uid, gid, size, mtimeNs, nlink } = lstatSync(path, { bigint: true })
  const isLink = lstatSync(path).isSymbolicLink()
  const attributes = python(
    'p = sys.argv[1]\nprint(sorted((n, os.getxattr(p, n, follow_symlinks=False)) for n in os.listxattr(p, follow_symlinks=False)))',
    path,
  ).stdout
  const content = isLink ? '' : readFileSync(path, 'hex')
  return [mode, uid, gid, size, mtimeNs, nlink, content, attributes].map(String)
}

async function adoptedAndBack(...paths: readonly string[]): Promise<void> {
  const deps = { files: realFiles, dir }
  const links = paths.map((path) => ({ path, inSlot: 'x' }))
  await keepOriginals(deps, 'kubelet', links, undefined)
  const kept = await readKept(deps, 'kubelet')
  expect(statSync(join(dir.state, 'kept/kubelet')).mode & 0o777).toBe(0o700)
  for (const path of paths) {
    rmSync(onNode(dir, path))
    symlinkSync(`${currentLink(dir, 'kubelet')}/x`, onNode(dir, path))
  }
  for (const path of paths) await restorePath(deps, 'kubelet', kept, path)
}

function plant(path: string, content: string, mode: number, touched: string): string {
  const at = onNode(dir, path)
  writeFileSync(at, content)
  chmodSync(at, mode)
  execFileSync('touch', ['-d', touched, at])
  return at
}

test('a file comes back with its time to the nanosecond, its mode, and no trace beside it', async () => {
  const at = plant('/usr/bin/kubelet', 'kubelet', 0o2755, '2021-03-04 05:06:07.123456789')
  const twin = plant('/usr/bin/kubelet-again', 'kubelet', 0o640, '2001-01-01 00:00:00.000000001')
  const before = [seen(at), seen(twin)]
  await adoptedAndBack('/usr/bin/kubelet', '/usr/bin/kubelet-again')
  expect([seen(at), seen(twin)]).toEqual(before)
  expect(readdirSync(onNode(dir, '/usr/bin')).toSorted()).toEqual(['kubelet', 'kubelet-again'])
})

test('a link comes back with its own time', async () => {
  plant('/usr/bin/real', 'x', 0o755, '2021-03-04 05:06:07')
  const at = onNode(dir, '/usr/bin/kubelet')
  symlinkSync('real', at)
  execFileSync('touch', ['-h', '-d', '2022-01-02 03:04:05.987654321', at])
  const before = seen(at)
  await adoptedAndBack('/usr/bin/kubelet')
  expect(seen(at)).toEqual(before)
})

test('extended attributes come back', async (context) => {
  const why = whyNoAttributes()
  if (why !== undefined) context.skip(why)
  const at = plant('/usr/bin/kubelet', 'kubelet', 0o755, '2021-03-04 05:06:07')
  python("os.setxattr(sys.argv[1], 'user.origin', b'kubeadm')", at)
  const before = seen(at)
  expect(String(before)).toContain('user.origin')
  await adoptedAndBack('/usr/bin/kubelet')
  expect(seen(at)).toEqual(before)
})

test('capabilities and owner of a program come back; needs root', async (context) => {
  if (process.getuid?.() !== 0) context.skip('only root gives capabilities and owners')
  const at = plant('/usr/bin/ping', 'ping', 0o755, '2021-03-04 05:06:07')
  execFileSync('chown', ['65534:998', at])
  // VFS_CAP_REVISION_2 with cap_net_raw, effective.
  const set = python(
    "os.setxattr(sys.argv[1], 'security.capability', bytes.fromhex('0100000200200000000000000000000000000000'))",
    at,
  )
  if (set.status !== 0) context.skip(`capabilities cannot be set here: ${set.stderr.slice(-80)}`)
  execFileSync('touch', ['-d', '2021-03-04 05:06:07', at])
  const before = seen(at)
  expect(String(before)).toContain('security.capability')
  await adoptedAndBack('/usr/bin/ping')
  expect(seen(at)).toEqual(before)
})
