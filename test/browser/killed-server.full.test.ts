// The program of the console is killed with SIGKILL while machines change and seven tabs follow: afterwards each tab shows every machine once.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { freePort } from '#test/support/console/console-world.ts'
import { HOST, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'
import { useBench } from './browser.ts'

const bench = useBench()
const KUBENODE = resolve(import.meta.dirname, '../../bin/kubenode')
const TABS = 7
const MACHINES = 60

let world: PeopleWorld
let program: ChildProcess | undefined

beforeAll(async () => {
  world = await peopleWorld()
  await world.allow('chief', ['*'], ['get', 'list', 'watch'])
})
afterAll(async () => {
  program?.kill('SIGKILL')
  await (world as PeopleWorld | undefined)?.stop()
})

const nameOf = (n: number): string => `n-${100 + n}`
const newMachine = (n: number): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name: nameOf(n) },
  spec: { zone: 'zone-a', pool: 'workers', channel: 'Agent' },
})

function kubeconfig(): string {
  const { url: server, ca, cert, key } = world.server
  const packed = (text: string): string => Buffer.from(text).toString('base64')
  const path = join(world.folder, 'kubeconfig')
  const user = { 'client-certificate-data': packed(cert), 'client-key-data': packed(key) }
  writeFileSync(
    path,
    JSON.stringify({
      'current-context': 'test',
      clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': packed(ca) } }],
      users: [{ name: 'test', user }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    }),
    { mode: 0o600 },
  )
  return path
}

/** Until it serves. */
async function start(port: number): Promise<void> {
  const file = join(world.folder, 'console.json')
  writeFileSync(file, JSON.stringify({ names: [HOST, '127.0.0.1'], ...world.files }), { mode: 0o600 })
  const at = ['--console-config', file, '--console-listen', `127.0.0.1:${port}`]
  program = spawn(KUBENODE, ['run', '--roles', 'console', '--kubeconfig', kubeconfig(), ...at], { stdio: 'ignore' })
  const answers = () =>
    world
      .browser(port)
      .ask('/api/sign-in')
      .then(({ status }) => status)
      .catch(() => 0)
  await expect.poll(answers).toBe(200)
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(await world.tokenOf('chief'))
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Every row of the table, as often as it is there. */
const shown = (page: Page): Promise<readonly string[]> => page.locator('tbody th').allInnerTexts()

test('seven tabs show every machine once after their server was killed in the middle of changes', async () => {
  const port = await freePort()
  await start(port)
  const address = `https://127.0.0.1:${port}/#/machines/test?as=table`
  const first = await bench.open('', { isStill: false, url: address, ignoreHTTPSErrors: true })
  await signIn(first)
  const tabs = [first]
  while (tabs.length < TABS) {
    const tab = await first.context().newPage()
    await tab.goto(address)
    tabs.push(tab)
  }
  for (const tab of tabs) await tab.getByRole('heading', { level: 1, name: 'Machines' }).waitFor()
  for (let n = 0; n < MACHINES; n++) {
    await world.admin.create(machine, newMachine(n))
    if (n % 4 === 3) await world.admin.delete(machine, { name: nameOf(n - 2) })
    if (n === MACHINES / 2) {
      const ended = once(program as ChildProcess, 'exit')
      program?.kill('SIGKILL')
      await ended
    }
  }
  for (const tab of tabs) await tab.getByText('Offline since').waitFor()
  await start(port)
  const again = tabs[2] ?? first
  await again.getByRole('link', { name: 'Sign in again' }).click()
  await signIn(again)
  const left = [...Array(MACHINES).keys()].filter((n) => n % 4 !== 1).map(nameOf)
  for (const tab of tabs) await expect.poll(() => shown(tab)).toEqual(left)
  // And they follow.
  await world.admin.create(machine, newMachine(MACHINES))
  for (const tab of tabs) await expect.poll(() => shown(tab)).toEqual([...left, nameOf(MACHINES)])
  expect(bench.errors).toEqual([])
})
