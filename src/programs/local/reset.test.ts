import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { DATA_FORMAT, layoutOf, readState, writeState, type Layout } from './layout.ts'
import { reset } from './reset.ts'

let dir = ''
let layout: Layout
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-reset-'))
  layout = layoutOf(dir)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

/** Everything that a start creates, and a photo. */
function used(state: string): void {
  writeFileSync(layout.state, state)
  for (const path of [
    layout.logs,
    layout.artifacts,
    layout.debian,
    layout.repository,
    layout.gitCache,
    join(dir, 'photos'),
  ])
    mkdirSync(path)
  for (const name of ['hub', 'test']) mkdirSync(layout.cluster(name).apiserver, { recursive: true })
  writeFileSync(layout.adminKubeconfig, 'kind: Config')
}

test.each([
  ['of this version', JSON.stringify({ format: DATA_FORMAT, ports: { hub: 1, test: 2 } })],
  ['of another version', JSON.stringify({ format: 99, ports: {} })],
  ['of the version before', JSON.stringify({ format: 2, ports: { hub: 1, test: 2 } })],
  ['that was moved here', JSON.stringify({ format: DATA_FORMAT, ports: { hub: 1 }, folder: '/elsewhere' })],
  ['whose file is broken', '{'],
])('a data folder %s is emptied of what a start made, and can be used again', async (_, state) => {
  used(state)
  expect(await reset(layout)).toBeUndefined()
  expect(readdirSync(dir).sort()).toEqual(['fleet.json', 'photos'])
  writeState(layout, { format: DATA_FORMAT, ports: { hub: 3 } })
  expect(readState(layout)?.ports).toEqual({ hub: 3 })
})

test('a folder that is not ours is refused and left as it is', async () => {
  mkdirSync(join(dir, 'photos'))
  await expect(reset(layout)).rejects.toThrow('KN1203')
  expect(readdirSync(dir)).toEqual(['photos'])
})
