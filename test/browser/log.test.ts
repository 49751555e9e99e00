// The log of a component on a node's page: followed on request, as the agent sends it, and ended by a person or the log.
import { expect, test } from 'vitest'
import type { NodeTopic } from '#console/protocol.ts'
import { audited, settled } from './audit.ts'
import { useBench } from './browser.ts'

const bench = useBench()

test('a person follows the log of a component, sees new lines and what is missing, and stops it', async () => {
  const page = await bench.open('#/node/prod/n-3')
  await settled(page)
  const section = page.getByRole('region', { name: 'Log', exact: true })
  expect(await section.locator('pre').count()).toBe(0)
  await section.getByRole('button', { name: 'Follow' }).click()
  const log = section.getByRole('region', { name: 'Log of beacon' })
  await expect.poll(() => log.innerText()).toBe('starting\ntoken=[secret]\nready')
  await section.getByText('Live, with secrets masked').waitFor()
  expect(bench.server.written).toEqual([{ cluster: 'prod', machine: 'n-3', component: 'beacon' }])
  expect(bench.errors).toEqual([])
  await audited(page, false)
  bench.server.logParts = [
    { note: '… 12 older lines left out' },
    { lines: ['<b>bye</b>\u202e'] },
    { end: 'the log ended' },
  ]
  await section.getByRole('combobox').selectOption('the agent')
  const other = section.getByRole('region', { name: 'Log of kubenode-agent' })
  // Text of hosts is text, and changes no reading direction (S20).
  await expect.poll(() => other.innerText()).toBe('<b>bye</b>\ufffd')
  await section.getByText('… 12 older lines left out').waitFor()
  await section.getByText('The log ended').waitFor()
  await section.getByRole('button', { name: 'Stop' }).click()
  expect(await section.locator('pre').count()).toBe(0)
})

test('why there is no log is said, and who may not read logs is offered none', async () => {
  bench.server.refuses = () => 'no log can be read on machine n-3: no agent has joined yet'
  const page = await bench.open('#/node/prod/n-3')
  await page.getByRole('button', { name: 'Follow' }).click()
  await page.getByText('no agent has joined yet').waitFor()
  bench.server.change<NodeTopic>('node/prod/n-3', (t) => ({ ...t, head: { ...t.head, canReadLogs: false } }))
  await page.reload()
  await settled(page)
  expect(await page.getByRole('button', { name: 'Follow' }).count()).toBe(0)
})
