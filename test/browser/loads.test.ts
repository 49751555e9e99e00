// What machines use: on the cards that are on screen, asked for once for each cluster, and unknown where nothing measures it.
import { expect, test } from 'vitest'
import { useBench } from './browser.ts'

const bench = useBench()

const asked = (): readonly string[] => bench.server.asked.filter((path) => path.includes('/api/load'))

test('a card says what its node uses; one that is not measured says that it is unknown', async () => {
  const page = await bench.open('#/machines/prod?q=n-')
  const card = (name: string) =>
    page.getByRole('listitem').filter({ has: page.getByRole('link', { name, exact: true }) })
  await card('n-3').getByText('Memory 97%').waitFor()
  await card('n-7').getByText('Load unknown').waitFor()
  expect(asked()).toEqual(['GET /api/load?cluster=prod&machines=n-1%2Cn-2%2Cn-3%2Cn-4%2Cn-5%2Cn-6%2Cn-7'])
  expect(bench.errors).toEqual([])
})

test('a cluster that measures nothing says so once', async () => {
  bench.server.load = { ...bench.server.load, loads: [], unknown: 'the cluster does not serve metrics.k8s.io' }
  const page = await bench.open('#/machines/prod')
  await page.getByText('Load is unknown: the cluster does not serve metrics.k8s.io.').waitFor()
  expect(await page.getByText('Load unknown').count()).toBe(0)
})

test('neither a heat map nor the past asks for loads', async () => {
  const page = await bench.open('#/machines/prod?draw=map')
  await page.getByRole('grid').waitFor()
  await page.goto(`${bench.server.url}/#/machines/prod?at=${bench.server.load.at - 60_000}`)
  await page.getByRole('checkbox', { name: 'Pick n-1' }).waitFor()
  expect(asked()).toEqual([])
})
