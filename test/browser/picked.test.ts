// Machines are picked as cards, stay picked in the address, and get one hold each from one dialog.
import { expect, test } from 'vitest'
import { useBench } from './browser.ts'

const bench = useBench()

const mayHold = (): void => {
  bench.server.session = {
    ...bench.server.session,
    clusters: bench.server.session.clusters.map((c) => ({ ...c, holds: ['Machine'] })),
  }
}

const targetOf = (body: unknown): string => (body as { readonly target: { readonly name: string } }).target.name

test('picked machines stay in the address and get a hold each', async () => {
  mayHold()
  const page = await bench.open('#/machines/prod')
  await page.getByRole('checkbox', { name: 'Pick n-3' }).check()
  await page.getByRole('checkbox', { name: 'Pick n-4' }).press('Space')
  await page.getByText('2 picked').waitFor()
  // A reload and another grouping keep them.
  await page.reload()
  await page.getByLabel('Group').selectOption('Label team')
  await page.getByText('2 picked').waitFor()
  await page.getByRole('button', { name: 'Hold: machine n-3 and 1 more in prod' }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('the rack is moved')
  await page.getByRole('button', { name: 'Hold', exact: true }).click()
  await page.getByRole('heading', { name: 'Created' }).waitFor()
  const written = bench.server.written as readonly { readonly target: object; readonly reason: string }[]
  expect(written.map(({ target, reason }) => [target, reason])).toEqual([
    [{ kind: 'Machine', name: 'n-3' }, 'the rack is moved'],
    [{ kind: 'Machine', name: 'n-4' }, 'the rack is moved'],
  ])
  await page.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('link', { name: 'Drop all' }).click()
  await page.getByText('2 picked').waitFor({ state: 'detached' })
  expect(bench.errors).toEqual([])
})

test('a refusal names how many holds there are already', async () => {
  mayHold()
  const page = await bench.open('#/machines/prod?picked=prod/n-3,prod/n-4')
  await page.getByRole('button', { name: 'Hold: machine n-3 and 1 more in prod' }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('the rack is moved')
  bench.server.instead.set('/api/hold', { status: 403, message: 'User "ada" cannot create operationalholds' })
  await page.getByRole('button', { name: 'Hold', exact: true }).click()
  await page.getByRole('alert').getByText('Not created').waitFor()
})

test('another try after a refusal continues where the first one ended, and lists no hold twice', async () => {
  mayHold()
  const page = await bench.open('#/machines/prod?picked=prod/n-3,prod/n-4,prod/n-3')
  await page.getByRole('button', { name: 'Hold: machine n-3 and 1 more in prod' }).click()
  await page.getByRole('dialog').getByText('n-3, n-4').waitFor()
  await page.getByRole('textbox', { name: 'Reason' }).fill('the rack is moved')
  bench.server.refuses = (body) => targetOf(body) === 'n-4' && 'the API server is busy'
  await page.getByRole('button', { name: 'Hold', exact: true }).click()
  await page.getByRole('alert').getByText('1 of 2 created, the next was not').waitFor()
  bench.server.refuses = undefined
  await page.getByRole('button', { name: 'Hold', exact: true }).click()
  await page.getByRole('heading', { name: 'Created' }).waitFor()
  expect(bench.server.written.map(targetOf)).toEqual(['n-3', 'n-4'])
})

test('a dialog that is closed sends no further hold, and says how many there are', async () => {
  mayHold()
  const page = await bench.open('#/machines/prod?picked=prod/n-3,prod/n-4')
  await page.getByRole('button', { name: 'Hold: machine n-3 and 1 more in prod' }).click()
  await page.getByRole('textbox', { name: 'Reason' }).fill('the rack is moved')
  const answer = Promise.withResolvers<void>()
  bench.server.answersWrites = answer.promise
  await page.getByRole('button', { name: 'Hold', exact: true }).click()
  await expect.poll(() => bench.server.written).toHaveLength(1)
  await page.getByRole('button', { name: 'Cancel' }).click()
  answer.resolve()
  await page.getByText('Closed early: 1 of 2 created').first().waitFor({ state: 'attached' })
  expect(bench.server.written.map(targetOf)).toEqual(['n-3'])
})

test('picked machines are protected by a commit, which a form prepares with what it means for each', async () => {
  const page = await bench.open('#/machines/prod?picked=prod/n-3,prod/n-4')
  await page.getByRole('link', { name: 'Protect by a commit' }).press('Enter')
  await page.getByRole('heading', { name: 'Protect machines by a commit' }).waitFor()
  await page.getByLabel('Your e-mail').fill('ada@example.org')
  await page.getByLabel('Reason').fill('the rack is moved')
  await page.getByLabel('Reason').press('Enter')
  await page
    .getByRole('region', { name: 'What it means for the machines' })
    .getByText('beacon stays at 1.1.0')
    .waitFor()
  expect(bench.server.written).toMatchObject([
    { change: { kind: 'Protect', cluster: 'prod', machines: ['n-3', 'n-4'] }, reason: 'the rack is moved' },
  ])
  await page.getByRole('combobox', { name: 'What' }).selectOption('End their protection')
  await page.getByRole('heading', { name: 'End the protection of machines by a commit' }).waitFor()
  await page.getByRole('button', { name: 'Prepare the commit' }).click()
  await expect.poll(() => bench.server.written.at(-1)).toMatchObject({ change: { kind: 'Unprotect' } })
  expect(bench.errors).toEqual([])
})

test('two clusters have a button each, and on a wall the dialog keeps its buttons', async () => {
  mayHold()
  const page = await bench.open('#/machines/prod?wall=1&picked=prod/n-3,hub/n-9')
  await page.getByText('Hold in hub…').waitFor()
  await page.getByText('Hold in prod…').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).waitFor()
})

test('after a card is ticked, keys still work', async () => {
  const page = await bench.open('#/machines/prod')
  await page.getByRole('checkbox', { name: 'Pick n-3' }).check()
  await page.keyboard.press('w')
  await page.getByRole('link', { name: 'Leave the wall' }).waitFor()
})

test('a few machines are cards, and one key or link away from a heat map', async () => {
  const page = await bench.open('#/machines/prod')
  await page.getByRole('link', { name: 'As a heat map' }).click()
  await page.getByRole('grid').waitFor()
  await page.getByRole('link', { name: 'As cards' }).click()
  await page.getByRole('checkbox', { name: 'Pick n-1' }).waitFor()
})
