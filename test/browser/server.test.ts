// The page with the real server of the console, over a real API server: a link signs in, and what changes in the cluster is on the page.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type Machine, machine } from '#api/kinds/machine.ts'
import { readPage } from '#console/server/page-files.ts'
import { type ConsoleWorld, consoleWorld } from '#test/support/console/console-world.ts'
import { useBench } from './browser.ts'

const bench = useBench()
let world: ConsoleWorld

beforeAll(async () => {
  world = await consoleWorld()
})
afterAll(() => (world as ConsoleWorld | undefined)?.stop())

const newMachine = (name: string, zone: string): Machine => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Machine',
  metadata: { name },
  spec: { zone, pool: 'workers', channel: 'Agent' },
})

/** As clouds call the contexts of their clusters. */
const CONTEXTS = ['test', 'arn:aws:eks:eu-west-1:012345678901:cluster/prod, 100%']

test.each(CONTEXTS)(
  'with context %s a link signs in, every view is there, and a machine is on the page as soon as it is in the cluster',
  async (context) => {
    const running = await world.console(new Map([[context, world.admin]]), 0, readPage())
    const cluster = encodeURIComponent(context)
    const page = await bench.open('', { isStill: false, url: running.newLink() })
    await page.getByRole('navigation', { name: 'Views' }).waitFor()
    const origin = new URL(page.url()).origin
    await page.goto(`${origin}/#/machines/${cluster}?draw=map`)
    await page.getByRole('heading', { name: 'No machines' }).waitFor()
    await world.admin.create(machine, newMachine('n-1', 'zone-a'))
    await page.getByText('1 machine', { exact: true }).waitFor()
    await page.getByRole('grid').focus()
    await expect.poll(() => page.getByRole('gridcell').textContent()).toContain('n-1')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'n-1', level: 1 }).waitFor()
    for (const view of [
      'home',
      'pipeline',
      `rollouts/${cluster}`,
      `budgets/${cluster}`,
      `repairs/${cluster}`,
      'clusters',
      `maintenance/${cluster}`,
      'commits',
    ]) {
      await page.goto(`${origin}/#/${view}`)
      await page.locator('main h1').waitFor()
      await page.locator('main:not(:has(.bones)) h1').waitFor()
      expect(await page.getByText('This could not be read').count(), view).toBe(0)
      expect(await page.getByText('You may not read this').count(), view).toBe(0)
      expect(await page.getByText('there is no topic').count(), view).toBe(0)
    }
    await world.admin.delete(machine, { name: 'n-1' })
    await page.goto(`${origin}/#/machines/${cluster}`)
    await page.getByRole('heading', { name: 'No machines' }).waitFor()
    expect(bench.errors).toEqual([])
  },
)

test('a link that was used shows how to get another one', async () => {
  const running = await world.console(new Map([['test', world.admin]]), 0, readPage())
  const link = running.newLink()
  await bench.open('', { isStill: false, url: link })
  const page = await bench.open('', { isStill: false, url: link })
  expect(await page.locator('body').innerText()).toMatch(/link/i)
  await page.goto(new URL(link).origin)
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
})

test('a person without rights is shown no view of that cluster', async () => {
  const running = await world.console(new Map([['test', world.clientAs('bob')]]), 0, readPage())
  const page = await bench.open('', { isStill: false, url: running.newLink() })
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  const views = page.getByRole('navigation', { name: 'Views' }).getByRole('link')
  await expect.poll(async () => (await views.allInnerTexts()).join(' ')).not.toMatch(/Machines|Budgets|Pipeline/)
})
