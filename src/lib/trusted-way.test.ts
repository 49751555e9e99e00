import {
  chmodSync,
  chownSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { doubtOf, ownGroups, requireTrustedWay, wayTo, type Step } from './trusted-way.ts'

const OWN = 1_000
const OTHER = 1_001
const NOBODY = 65_534

const step = (uid: number, mode: number, more: Partial<Step> = {}): Step => ({
  path: '/srv/x',
  uid,
  gid: uid,
  mode,
  isLink: false,
  ...more,
})

test.each([
  ['S31 a folder of root', step(0, 0o755), undefined],
  ['our own', step(OWN, 0o700), undefined],
  ['one like /tmp', step(0, 0o1777), undefined],
  ['a link of ours', step(OWN, 0o777, { isLink: true }), undefined],
  ['our own with a group of our own', step(OWN, 0o775), undefined],
  ["another user's", step(OTHER, 0o755), ['/srv/x belongs to uid 1001 (mode 0755)', 'sudo chown 1000 /srv/x']],
  [
    "another user's with the sticky bit, which does not bind its owner",
    step(OTHER, 0o1777),
    ['/srv/x belongs to uid 1001 (mode 01777)', 'sudo chown 1000 /srv/x'],
  ],
  [
    'one that all may write to',
    step(0, 0o777),
    ['/srv/x belongs to uid 0 and is writable by every user (mode 0777)', 'sudo chmod go-w /srv/x'],
  ],
  [
    'one that a group of others may write to',
    step(OWN, 0o2775, { gid: 50 }),
    ['/srv/x belongs to uid 1000 and is writable by its group (gid 50) (mode 02775)', 'chmod go-w /srv/x'],
  ],
  [
    "another user's link",
    step(OTHER, 0o777, { isLink: true }),
    ['/srv/x is a link that belongs to uid 1001', 'sudo rm /srv/x'],
  ],
])('%s', (_, seen, expected) => {
  const doubt = doubtOf(seen, { own: OWN, isOurs: (gid) => gid === OWN })
  expect(doubt === undefined ? undefined : [doubt.seen, doubt.command]).toEqual(expected)
})

test('the command can be pasted whatever the folder is called', () => {
  const { command } = doubtOf(step(0, 0o777, { path: "/srv/a $(b) 'c" }), { own: 0, isOurs: () => true }) ?? {}
  expect(command).toBe(`chmod go-w '/srv/a $(b) '\\''c'`)
})

test('a group is ours when only root and we are in it', () => {
  const passwd =
    'root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/:/bin/sh\nbob:x:1001:1001::/:/bin/sh\ncy:x:1002:100::/:/bin/sh\n'
  const group = 'root:x:0:\nann:x:1000:\nbob:x:1001:\nusers:x:100:\nteam:x:50:ann,bob\nalone:x:51:ann\n'
  const isOurs = ownGroups(passwd, group, { uid: 1_000, gid: 1_000 })
  expect([0, 1_000, 1_001, 100, 50, 51, 4_711].map(isOurs)).toEqual([true, true, false, false, false, false, false])
  expect(ownGroups(passwd, group.replace('root:x:0:', 'root:x:0:bob'), { uid: 1_000, gid: 1_000 })(0)).toBe(false)
  // users of a directory are in neither file
  const far = ownGroups('', '', { uid: 20_001, gid: 20_001 })
  expect([20_001, 20_002].map(far)).toEqual([true, false])
})

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'kubenode-way-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function make(name: string, mode: number): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  chmodSync(path, mode)
  return path
}

test('the way has every folder and every link that is followed, as far as it exists', () => {
  make('real/inner', 0o755)
  symlinkSync('real', join(folder, 'link'))
  const names = wayTo(join(folder, 'link/inner/not/yet'))
    .map(({ path }) => path)
    .filter((path) => path.startsWith(`${folder}/`))
  expect(names).toEqual(['link', 'real', 'real/inner'].map((name) => join(folder, name)))
  symlinkSync('circle', join(folder, 'circle'))
  expect(wayTo(join(folder, 'circle/x')).length).toBeLessThan(100)
})

test('S31 a folder below one that every user may write to is refused with the command that ends it', () => {
  const open = make('open', 0o777)
  const data = make('open/data', 0o700)
  expect(() => requireTrustedWay(data)).toThrow(
    `KN1040: cannot use ${data}: ${open} belongs to uid ${process.geteuid?.()} and is writable by every user (mode 0777), ` +
      `so another user could replace what is in it; run chmod go-w ${open}, or choose another folder`,
  )
  chmodSync(open, 0o1777)
  requireTrustedWay(data)
  requireTrustedWay(join(data, 'not/yet'))
  chmodSync(data, 0o777)
  requireTrustedWay(data, { isClosedByCaller: true })
  expect(() => requireTrustedWay(join(data, 'not'), { isClosedByCaller: true })).toThrow(/^KN1040: /)
})

test('folders above the running program are only warned of: who may change them is trusted already', () => {
  const open = make('open', 0o777)
  const program = join(make('open/bin', 0o755), 'main')
  writeFileSync(program, '')
  const warned: string[] = []
  requireTrustedWay(make('open/data', 0o700), { program, onWarning: ({ path }) => warned.push(path) })
  expect(warned).toEqual([open])
  const other = make('other', 0o777)
  expect(() => requireTrustedWay(join(other, 'data'), { program })).toThrow(/^KN1040: /)
})

test("S31 another user's folder and link are refused", (context) => {
  context.skip(process.geteuid?.() !== 0, 'needs root: a second user has to own them')
  const theirs = make('theirs', 0o755)
  const data = make('theirs/data', 0o700)
  chownSync(theirs, NOBODY, NOBODY)
  expect(() => requireTrustedWay(data)).toThrow(
    `KN1040: cannot use ${data}: ${theirs} belongs to uid 65534 (mode 0755), so another user could replace what is in it; run chown 0 ${theirs}, or`,
  )
  make('shared', 0o1777)
  make('ours', 0o755)
  const link = join(folder, 'shared/link')
  symlinkSync('../ours', link)
  requireTrustedWay(link)
  rmSync(link)
  symlinkSync('../ours', link)
  lchownSync(link, NOBODY, NOBODY)
  expect(() => requireTrustedWay(link)).toThrow(/shared\/link is a link that belongs to uid 65534/)
})
