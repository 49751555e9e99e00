import { expect, test } from 'vitest'
import { PHASES } from '#api/phases.ts'
import { clusterIs } from './phase-words.ts'

test('a phase that is a noun or under way is no adjective', () => {
  expect(`cider-1 ${clusterIs('Addons')}`).toBe('cider-1 is getting its addons')
  expect(Object.keys(PHASES.Cluster).map(clusterIs)).not.toContain('is Addons')
})

test('a phase of a later version is shown as it is', () => expect(clusterIs('Moving')).toBe('is Moving'))
