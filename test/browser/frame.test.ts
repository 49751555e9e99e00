// The frame around the views: a wall for a monitor, a denser page, and messages that stay in a list.
import { expect, test } from 'vitest'
import { audited, settled } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

test('on a wall a view stands alone, says when it is not live, and one key leads there and back', async () => {
  const page = await bench.open('#/pipeline', { isStill: false })
  await settled(page)
  await page.keyboard.press('w')
  await page.getByRole('link', { name: 'Leave the wall' }).waitFor()
  expect(await page.getByRole('navigation', { name: 'Views' }).count()).toBe(0)
  expect(page.url()).toContain('wall=1')
  await audited(page, false)
  await expect.poll(() => bench.server.streams).toBe(1)
  await bench.server.stop()
  await page.getByText('Offline since').waitFor()
  await bench.server.start()
  await page.keyboard.press('w')
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  expect(page.url()).not.toContain('wall')
})

test('a tight page shows more lines, is without findings of axe, and stays tight after a reload', async () => {
  const page = await bench.open('#/machines/prod?as=table')
  await settled(page)
  const height = () => page.evaluate<number>('document.querySelector("main table").offsetHeight')
  const before = await height()
  await page.getByLabel('Density').selectOption('Tight')
  await expect.poll(height).toBeLessThan(before * 0.9)
  await page.reload()
  await settled(page)
  expect(await height()).toBeLessThan(before * 0.9)
  await audited(page, false)
})

test('what the page says appears, and stays in a list', async () => {
  const page = await bench.open('#/machines/prod', { permissions: ['clipboard-write'] })
  await settled(page)
  expect(await page.getByText('Messages').count()).toBe(0)
  await page.keyboard.press('y')
  await page.locator('.toast').waitFor()
  await page.getByText('Messages (1)').click()
  await page.locator('.messages li').getByText('Copied').waitFor()
  expect(bench.errors).toEqual([])
})
