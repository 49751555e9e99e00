// What the code of a fleet may try in the pod of a render Job: it ends as in a process.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { findCage } from '#sync/render/cage.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { fleetOf, renderJobWorld, type RenderJobWorld } from '#test/support/worlds/render-job-world.ts'

let world: RenderJobWorld
beforeAll(async () => void (world = await renderJobWorld()))
afterEach(() => world.reset())
afterAll(() => world.close())

test.each([
  ['a throw', `throw new Error('no')`, 'KN7102'],
  ['code that does not parse', `const x: = 1`, 'KN7102'],
  ['process.exit', `process.exit(0)`, 'KN7102'],
  ['a promise that nothing fulfils', `await new Promise(() => undefined)`, 'KN7106'],
  ['an endless loop', `for (;;);`, 'KN7104'],
  ['another program', `import { spawn } from 'node:child_process'\nspawn('sh')`, 'KN7103'],
  ['the log of its pod', `import { writeSync } from 'node:fs'\nwriteSync(1, 'x')`, 'KN7103'],
  ['too much output', `for (let i = 0; i < 5e6; i++) console.log('x'.repeat(100))`, 'KN7105'],
])('the code of a fleet tries %s: as in a process', async (_, code, wanted) => {
  expect(await world.outcome(fleetOf(code), { deadlineMs: 8_000 })).toContain(wanted)
})

const ROOT = join(import.meta.dirname, '../..')

test('the fleet of this repository is the same from a Job and from a process, byte by byte', async () => {
  const paths = globSync('{fleet,rules}/**/*.{ts,json}', { cwd: ROOT })
  const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))
  const inProcess = await world.render(files, {}, processRenderer(await findCage('allow')))
  const inJob = await world.render(files)
  expect(inJob.targets.size).toBeGreaterThan(0)
  expect(JSON.stringify([...inJob.targets])).toBe(JSON.stringify([...inProcess.targets]))
})
