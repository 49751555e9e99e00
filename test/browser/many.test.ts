// Many: 10,000 machines that change, and seven tabs of one browser.
import { expect, test } from 'vitest'
import { cellsOf, manyMachines } from '#test/support/console/many-machines.ts'
import { GOOD_TOKEN } from '#test/support/console/fixture-server.ts'
import { useBench } from './browser.ts'

const bench = useBench()

test('10,000 machines are drawn, and follow 100 changes a second without a lost one', async (context) => {
  bench.server.topics.set('machines/prod', manyMachines('prod'))
  const page = await bench.open('#/machines/prod', { isStill: false })
  await page.getByText('10,000 machines', { exact: true }).waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  await page.evaluate(
    `window.long = []; new PerformanceObserver((l) => l.getEntries().forEach((e) => window.long.push(Math.round(e.duration)))).observe({ type: 'longtask' })`,
  )
  for (let batch = 0; batch < 20; batch++) {
    const machines = Array.from(
      { length: 25 },
      (_, i) => [`node-${batch * 25 + i}`, cellsOf(batch * 25 + i, 'Updating')] as const,
    )
    bench.server.send({ topic: 'machines/prod', words: [], machines, removed: [] })
    await new Promise((done) => setTimeout(done, 250))
  }
  const legend = page.getByRole('list', { name: 'Legend' })
  await expect.poll(() => legend.innerText()).toMatch(/Updating\s*600/)
  // A figure, not an assertion: it depends on the machine that runs the test.
  await context.annotate(`long tasks in ms: ${JSON.stringify(await page.evaluate('window.long'))}`)
  expect(bench.errors).toEqual([])
})

test('the colors on the canvas are those of the machines', async () => {
  bench.server.topics.set('machines/prod', manyMachines('prod'))
  const page = await bench.open('#/machines/prod', { isStill: false })
  await page.getByText('10,000 machines', { exact: true }).waitFor()
  const shown = `(() => { const c = document.querySelector('.map-field canvas'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const n = new Set(); for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) n.add(d[i] + ',' + d[i + 1] + ',' + d[i + 2]); return [...n] })()`
  const BAD = '213,94,0'
  await page.goto(`${bench.server.url}/#/machines/prod?draw=map&q=node-5000`)
  await page.getByText('1 of 10,000 machines').waitFor()
  expect(await page.evaluate<string[]>(shown)).not.toContain(BAD)
  bench.server.send({
    topic: 'machines/prod',
    words: [],
    machines: [['node-5000', cellsOf(5000, 'Failed')]],
    removed: [],
  })
  await expect.poll(() => page.evaluate<string[]>(shown)).toContain(BAD)
})

test('seven tabs share one stream, and the next tab leads when the first is closed', async () => {
  const first = await bench.open('#/home', { isStill: false })
  const tabs = [first]
  for (let i = 1; i < 7; i++) {
    const tab = await first.context().newPage()
    await tab.goto(`${bench.server.url}/#/${i % 2 === 0 ? 'pipeline' : 'home'}`)
    tabs.push(tab)
  }
  for (const tab of tabs) await tab.locator('main h1').waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  const sentence = (text: string) => ({
    topic: 'home',
    head: { ...(bench.server.topics.get('home') as { readonly head: object }).head, sentence: text },
    set: [],
    removed: [],
  })
  bench.server.send(sentence('All tabs read this.'))
  for (const tab of tabs.filter((_, i) => i === 0 || i % 2 === 1))
    await tab.getByRole('heading', { name: 'All tabs read this.' }).waitFor()
  await first.close()
  await expect.poll(() => bench.server.streams).toBe(1)
  bench.server.send(sentence('The others go on.'))
  for (const tab of tabs.slice(1).filter((_, i) => i % 2 === 0))
    await tab.getByRole('heading', { name: 'The others go on.' }).waitFor()
})

test('seven tabs whose server was killed continue together, as soon as a person has signed in at one of them', async () => {
  const { session } = bench.server
  const as = (name: string) => ({ ...session, person: { name, groups: [], how: 'Token' as const } })
  bench.server.session = as('ada@example.org')
  const first = await bench.open('#/home', { isStill: false })
  const tabs = [first]
  for (let i = 1; i < 7; i++) {
    const tab = await first.context().newPage()
    await tab.goto(`${bench.server.url}/#/home`)
    tabs.push(tab)
  }
  for (const tab of tabs) await tab.locator('main h1').waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  await bench.server.stop()
  for (const tab of tabs) await tab.getByText('Offline since').waitFor()
  // A session ends with its server.
  bench.server.isSignedOut = true
  bench.server.ways = { ways: ['Token'] }
  bench.server.session = as('eve@example.org')
  const head = (bench.server.topics.get('home') as { readonly head: object }).head
  bench.server.send({ topic: 'home', head: { ...head, sentence: 'Changed meanwhile.' }, set: [], removed: [] })
  await bench.server.start()
  for (const tab of tabs) await tab.getByRole('link', { name: 'Sign in again' }).waitFor()
  const [leader, , second] = tabs
  await second?.getByRole('link', { name: 'Sign in again' }).click()
  await second?.getByLabel('Token', { exact: true }).fill(GOOD_TOKEN)
  await second?.getByRole('button', { name: 'Sign in' }).click()
  for (const tab of tabs) {
    await tab.getByRole('heading', { name: 'Changed meanwhile.' }).waitFor()
    await tab.getByText('Signed out').waitFor({ state: 'detached' })
    // What may be done is drawn for the person who signed in, in every tab.
    await tab.getByRole('link', { name: 'eve@example.org' }).waitFor()
  }
  expect(bench.server.streams).toBe(1)
  await leader?.close()
  await expect.poll(() => bench.server.streams).toBe(1)
  expect(bench.errors).toEqual([])
})
