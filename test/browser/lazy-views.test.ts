// Modules of views: one that does not arrive is asked for again, and the others arrive before anyone opens them.
import { expect, test } from 'vitest'
import { settled } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

test('a view whose module does not arrive says so, and is shown once it does', async () => {
  const page = await bench.open('#/home')
  await settled(page)
  await page.route('**/views/keys.ts', (route) => route.abort())
  await page.evaluate(`location.hash = '#/keys'`)
  await page.getByRole('heading', { name: 'This view could not be loaded' }).waitFor()
  await page.unroute('**/views/keys.ts')
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  expect(bench.errors).toEqual([])
})

test('a view whose module does not arrive a second time offers to reload the page, and its error is logged once', async () => {
  const page = await bench.open('#/home')
  await settled(page)
  const logged: string[] = []
  page.on('console', (m) => m.text().includes('view keys could not be loaded') && logged.push(m.text()))
  await page.route('**/views/keys.ts', (route) => route.abort())
  await page.evaluate(`location.hash = '#/keys'`)
  const reload = page.getByRole('button', { name: 'Reload the page' })
  await reload.waitFor()
  expect(logged).toEqual([expect.stringMatching(/^view keys could not be loaded .*Failed to fetch/)])
  await Promise.all([page.waitForEvent('load'), reload.click()])
  await page.unroute('**/views/keys.ts')
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  expect(bench.errors).toEqual([])
})

test('a view that was never opened is there while the server is away', async () => {
  const page = await bench.open('#/home')
  await page.waitForResponse((r) => r.url().endsWith('/views/account.ts'))
  await page.context().setOffline(true)
  await page.evaluate(`location.hash = '#/keys'`)
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor()
  expect(bench.errors).toEqual([])
})
