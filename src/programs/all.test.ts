import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CONTROLLERS, ROLE_NAMES, ROLES } from './all.ts'

const ROOT = join(import.meta.dirname, '../..')

test('each loop of role controllers is loaded under the name that the page has', async () => {
  for (const [name, { load }] of Object.entries(CONTROLLERS)) expect((await load()).name).toBe(name)
})

test('each folder of controllers is a loop of a role', () => {
  const ofRoles = new Set<string>([...Object.keys(CONTROLLERS), ...ROLE_NAMES])
  const folders = readdirSync(join(ROOT, 'src/controllers'), { withFileTypes: true }).filter((e) => e.isDirectory())
  // Where the loop `state` lies.
  expect(folders.map((f) => f.name).filter((name) => !ofRoles.has(name))).toEqual(['metrics'])
})

test('each role has a file with its parts, and there is no other', () => {
  const files = readdirSync(join(ROOT, 'src/programs/roles')).filter((f) => f !== 'config.ts')
  expect(files.toSorted()).toEqual(ROLE_NAMES.map((name) => `${name}.ts`).toSorted())
})

test('each switch of the page is an option of kubenode run', () => {
  const page = readFileSync(join(ROOT, 'docs/reference/commands.md'), 'utf8')
  const run = page.slice(page.indexOf('\n## kubenode run\n'))
  const switches = Object.values(ROLES).flatMap((role) => Object.keys(role.switches))
  expect(switches.length).toBeGreaterThan(10)
  expect(switches.filter((option) => !run.includes(option))).toEqual([])
})

test('no two loops of one role have one name', () => {
  for (const { loops } of Object.values(ROLES)) expect(new Set(loops).size).toBe(loops.length)
})
