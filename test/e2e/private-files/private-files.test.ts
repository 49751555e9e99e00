// S31: everything that the local fleet leaves on the disk is for its owner alone, although it was started with umask 000 in a folder that was
// open to all; and a second start closes what was opened meanwhile, and says so once.
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '#test/support/tools/processes.ts'
import { PATIENCE_MS, TestFleet } from '../whole-way/fleet.ts'

const OTHERS = 0o077
const CLUSTERS = ['test', 'prod']

let parent: string
let fleet: TestFleet

beforeAll(async () => {
  parent = mkdtempSync(join(tmpdir(), 'kubenode-modes-'))
  const data = join(parent, 'data')
  mkdirSync(data)
  chmodSync(data, 0o777)
  fleet = new TestFleet(data)
  fleet.startWithUmask('000', '--nodes', '1', '--data', data)
  await fleet.settled()
}, PATIENCE_MS)
afterAll(async () => {
  await fleet?.dispose()
  rmSync(parent, { recursive: true, force: true })
}, 60_000)

/** Nodes are machines with users and modes of their own; the test checks that other users cannot enter. */
function* walk(path: string): Iterable<string> {
  yield path
  const stat = lstatSync(path, { throwIfNoEntry: false })
  const isNode = CLUSTERS.some((c) => new RegExp(`^${join(fleet.data, c, 'nodes')}/[^/]+$`).test(path))
  if (stat?.isDirectory() === true && !isNode) for (const name of readdirSync(path)) yield* walk(join(path, name))
}

const openPaths = (): readonly string[] =>
  [...walk(fleet.data)].flatMap((path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || stat.isSymbolicLink() || (stat.mode & OTHERS) === 0) return []
    return [`${(stat.mode & 0o7777).toString(8)} ${relative(fleet.data, path)}`]
  })

test('a fleet that was started with umask 000 in an open folder leaves nothing open', () => {
  const seen = [...walk(fleet.data)].map((path) => relative(fleet.data, path))
  for (const file of [
    'lock',
    'fleet.json',
    'logs/apiservers.log',
    'hub/apiserver/objects.db',
    'hub/apiserver/objects.db-wal',
    'hub/apiserver/objects.db-shm',
    'hub/apiserver/pki/ca.key',
    'hub/apiserver/admin.kubeconfig',
    'hub/sync.kubeconfig',
    'test/controllers.kubeconfig',
    'fleet/.git/config',
  ])
    expect(seen).toContain(file)
  expect(seen.some((path) => /^test\/nodes\/[^/]+$/.test(path))).toBe(true)
  expect(openPaths()).toEqual([])
})

test(
  'what was opened while the fleet was down is closed by the next start, which says so',
  async () => {
    await fleet.end('SIGINT')
    for (const path of [fleet.data, join(fleet.data, 'hub/apiserver'), join(fleet.data, 'hub/apiserver/objects.db')])
      chmodSync(path, 0o777)
    const said = fleet.said.length
    fleet.startWithUmask('000', '--nodes', '1', '--data', fleet.data)
    const line = `closed 3 files and folders of ${fleet.data} to other users`
    await until('the start says it', () => fleet.said.slice(said).includes(line) || undefined, PATIENCE_MS)
    await fleet.settled()
    expect(openPaths()).toEqual([])
  },
  PATIENCE_MS,
)
