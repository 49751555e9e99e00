import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startsAround } from './data-folder.ts'
import { findData } from './find-data.ts'
import { takeLock } from './lock.ts'
import { fleetStatus } from './status.ts'

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-find-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('the data folder', () => {
  beforeEach(() => {
    for (const folder of ['.kubenode/repository/rules', '.kubenode/logs', 'src/deep'])
      mkdirSync(join(dir, folder), { recursive: true })
    writeFileSync(join(dir, '.kubenode/fleet.json'), '{}')
  })

  test.each(['.', 'src/deep', '.kubenode', '.kubenode/repository', '.kubenode/repository/rules', '.kubenode/logs'])(
    'is found from %s',
    (from) => expect(findData(join(dir, from))).toBe(join(dir, '.kubenode')),
  )

  test('is a folder with a fleet, not any of the name', () => {
    mkdirSync(join(dir, 'src/deep/.kubenode'))
    expect(findData(join(dir, 'src/deep'))).toBe(join(dir, '.kubenode'))
  })
})

describe('a fleet that is started is found from here', () => {
  const git = (folder: string) => mkdirSync(join(folder, '.git'), { recursive: true })
  test.each<readonly [string, string, boolean]>([
    ['in a folder with the data of one', '.kubenode/repository', true],
    ['in a fleet of a user', 'own/fleet', true],
    ['in a repository of something else', 'other', false],
  ])('%s', (_, from, want) => {
    for (const folder of [from, '.git', 'own/fleet', 'other']) mkdirSync(join(dir, folder), { recursive: true })
    writeFileSync(join(dir, 'own/fleet/main.ts'), '')
    git(join(dir, 'own'))
    if (from.startsWith('.kubenode')) writeFileSync(join(dir, '.kubenode/fleet.json'), '{}')
    expect(startsAround(join(dir, from))).toBe(want)
  })

  test('in the checkout, whose demo it is', () => expect(startsAround(import.meta.dirname)).toBe(true))
})

const wait = (data: string, waitMs: number, waits: string[]) =>
  fleetStatus({
    data,
    waitMs,
    connect: () => Promise.reject(new Error('no connection')),
    onWait: (missing) => waits.push(...missing),
  })

test('no command waits for a fleet where there is none, and no start is in progress', async () => {
  const waits: string[] = []
  // Far longer than a test may take.
  await expect(wait(join(dir, 'none'), 3_600_000, waits)).rejects.toThrow(/^KN1215: /)
  expect(waits).toEqual([])
})

test('waiting for a fleet that is being started says so, and ends with an error', async () => {
  const waits: string[] = []
  const unlock = takeLock({ lock: join(dir, 'lock.db'), holder: join(dir, 'lock') })
  await expect(wait(dir, 700, waits)).rejects.toThrow(/^KN1215: /)
  expect([...new Set(waits)]).toEqual([`the local fleet in ${dir} to start its servers`])
  unlock()
})
