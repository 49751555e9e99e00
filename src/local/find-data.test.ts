import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findData } from './find-data.ts'
import { fleetStatus } from './status.ts'

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-find-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('the data folder', () => {
  beforeEach(() => {
    for (const folder of ['.kubenode/fleet/rules', '.kubenode/logs', 'src/deep'])
      mkdirSync(join(dir, folder), { recursive: true })
    writeFileSync(join(dir, '.kubenode/fleet.json'), '{}')
  })

  test.each(['.', 'src/deep', '.kubenode', '.kubenode/fleet', '.kubenode/fleet/rules', '.kubenode/logs'])(
    'is found from %s',
    (from) => expect(findData(join(dir, from))).toBe(join(dir, '.kubenode')),
  )

  test('is a folder with a fleet, not any of the name', () => {
    mkdirSync(join(dir, 'src/deep/.kubenode'))
    expect(findData(join(dir, 'src/deep'))).toBe(join(dir, '.kubenode'))
  })
})

test('waiting where no fleet is says what it waits for, once, and ends with an error', async () => {
  const waits: string[] = []
  const wait = fleetStatus({
    data: join(dir, 'none'),
    waitMs: 700,
    connect: () => Promise.reject(new Error('nobody connects')),
    onWait: (text) => waits.push(text),
  })
  await expect(wait).rejects.toThrow(/^KN1215: /)
  expect(waits).toEqual([`a local fleet in ${join(dir, 'none')} (start one with npm start)`])
})
