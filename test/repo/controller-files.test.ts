// Each controller has the same files: who knows one finds the way in all. What a file decides beside the plan is a `plan-….ts`, anything else lies in a folder named for what it is.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './source-files.ts'

const CONTROLLERS = join(ROOT, 'src/controllers')

const NAMES = ['reconcile', 'observe', 'seen', 'plan', 'actions', 'act', 'status', 'events', 'metrics']

/** Tests lie beside what they test, and say after a dot which case: `plan.holds.test.ts`. */
const isKnown = (folder: string, file: string): boolean => {
  const [name = ''] = file.split('.')
  return NAMES.includes(name) || name.startsWith('plan-') || name === `${folder}-errors`
}

const folders = readdirSync(CONTROLLERS, { withFileTypes: true })
  .filter((e) => e.isDirectory())
  .map(({ name }) => name)

test.each(folders)('the files of %s have the names that every controller has', (folder) => {
  const files = readdirSync(join(CONTROLLERS, folder), { withFileTypes: true }).filter((e) => e.isFile())
  expect(files.length).toBeGreaterThan(0)
  expect(files.map(({ name }) => name).filter((name) => !isKnown(folder, name))).toEqual([])
})

test.each([
  ['plan.ts', true],
  ['plan-delete.test.ts', true],
  ['plan.property.test.ts', true],
  ['log-errors.ts', true],
  ['other-errors.ts', false],
  ['planner.ts', false],
  ['upkeep.ts', false],
])('%s: %s', (file, known) => expect(isKnown('log', file)).toBe(known))
