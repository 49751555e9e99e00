import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AGENT_PARTS, CONTROLLERS, PROGRAMS, ROLE_NAMES, ROLES } from './all.ts'

const ROOT = join(import.meta.dirname, '../..')

test('each loop of role controllers is loaded under the name that the page has', async () => {
  for (const [name, { load }] of Object.entries(CONTROLLERS)) expect((await load()).name).toBe(name)
})

test('each folder of controllers is a loop of a role', () => {
  const ofRoles = new Set<string>([...Object.keys(CONTROLLERS), ...ROLE_NAMES])
  const folders = readdirSync(join(ROOT, 'src/controllers'), { withFileTypes: true }).filter((e) => e.isDirectory())
  // The folder of the loop `state`.
  expect(folders.map((f) => f.name).filter((name) => !ofRoles.has(name))).toEqual(['metrics'])
})

test('each role has a file with its parts, and there is no other', () => {
  const files = readdirSync(join(ROOT, 'src/programs/roles')).filter(
    (f) => f !== 'config.ts' && !f.endsWith('.test.ts'),
  )
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

test('each program is a command that people find in the reference, and no other file of cli starts one', () => {
  const page = readFileSync(join(ROOT, 'docs/reference/commands.md'), 'utf8')
  for (const { command } of Object.values(PROGRAMS)) expect(page).toContain(`\n## ${command.split(' --')[0]}`)
  const started = [
    ...readFileSync(join(ROOT, 'src/programs/all.ts'), 'utf8').matchAll(/load: \(\) => import\('\.\/(.*)'\)/g),
  ]
  const commands = readdirSync(join(ROOT, 'src/cli/commands'), { recursive: true, encoding: 'utf8' })
  const around = commands
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'))
    .filter((path) => {
      const text = readFileSync(join(ROOT, 'src/cli/commands', path), 'utf8')
      return started.some(([, file = '']) => text.includes(`import('#programs/${file}')`))
    })
  expect(started.length).toBe(Object.keys(PROGRAMS).length)
  expect(around).toEqual([])
})

test('the parts of an agent on the page are those that are built', () => {
  const text = readFileSync(join(ROOT, 'src/agent/parts.ts'), 'utf8')
  const returned = /return \{\n([\s\S]*?)\n  \}/.exec(text.slice(text.indexOf('export function buildParts')))?.[1] ?? ''
  for (const part of Object.keys(AGENT_PARTS)) expect(returned).toMatch(new RegExp(`^    ${part}[,:]`, 'm'))
})
