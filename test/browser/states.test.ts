// What a view shows while there is nothing to show, and what becomes of it: loading, empty, refused, missing, failed, offline, signed out.
import { expect, test } from 'vitest'
import type { CommitsTopic, HomeTopic, PipelineTopic, RepairsTopic } from '#console/protocol.ts'
import { NOW } from './browser-path.ts'
import { useBench } from './browser.ts'

const bench = useBench()

const TOO_MANY = 'you have this console open in more than 16 browsers'
const streams = (): readonly string[] => bench.server.asked.filter((a) => a.includes('/events'))
const streamsAsked = (): number => streams().length
/** Whether the newest stream carries the topic. */
const streamOf = (topic: string): boolean => bench.server.streams === 1 && streams().at(-1)?.includes(topic) === true

test('a view that is being read says so', async () => {
  bench.server.instead.set('/api/topic/pipeline', 'Hangs')
  const page = await bench.open('#/pipeline')
  await page.getByText('Loading').waitFor({ state: 'attached' })
})

test('home of one cluster counts what is in it, and no other cluster', async () => {
  const page = await bench.open('#/home?of=test')
  await page.getByRole('heading', { level: 1, name: '1 thing needs attention in test: scribe 2.0.0 fails' }).waitFor()
  expect(await page.getByText('Clusters connected').count()).toBe(0)
  await page.goto(`${bench.server.url}/#/home?of=edge`)
  await page.getByRole('heading', { level: 1, name: 'Nothing needs attention in edge.' }).waitFor()
})

test('a view without anything in it says what would fill it', async () => {
  bench.server.change<RepairsTopic>('repairs/prod', (t) => ({ ...t, rows: [] }))
  bench.server.change<PipelineTopic>('pipeline', (t) => ({ ...t, rows: [] }))
  const page = await bench.open('#/repairs/prod')
  await page.getByRole('heading', { name: 'No repairs' }).waitFor()
  await page.goto(`${bench.server.url}/#/pipeline`)
  await page.getByRole('heading', { name: 'No release yet' }).waitFor()
})

test('a console without the hub says where releases and commits are, and how to open it', async () => {
  const { session } = bench.server
  const members = session.clusters.filter(({ state, isHub }) => state === 'Connected' && !isHub)
  bench.server.session = { ...session, clusters: members }
  bench.server.change<PipelineTopic>('pipeline', (t) => ({ ...t, rows: [] }))
  bench.server.change<CommitsTopic>('commits', (t) => ({ ...t, rows: [] }))
  const page = await bench.open('#/pipeline')
  for (const view of ['pipeline', 'commits', 'prepare']) {
    await page.goto(`${bench.server.url}/#/${view}`)
    await page.getByRole('heading', { name: 'Releases and commits are on the hub' }).waitFor()
    await page.getByText('kubenode console --context HUB').waitFor()
  }
})

test.each([
  [403, 'User "ada" cannot list repairs', 'You may not read this'],
  [404, 'cluster "prod" is not known', 'This does not exist'],
  [500, 'the cluster does not answer', 'This could not be read'],
])('the answer %i is shown with its message and what to do', async (status, message, title) => {
  bench.server.instead.set('/api/topic/repairs', { status, message })
  const page = await bench.open('#/repairs/prod')
  await page.getByRole('heading', { name: title }).waitFor()
  await page.getByText(message, { exact: false }).waitFor()
})

test('a view that could not be read is shown as soon as it can be', async () => {
  bench.server.instead.set('/api/topic/repairs', { status: 503, message: 'not yet' })
  const page = await bench.open('#/repairs/prod', { isStill: false })
  await page.getByRole('heading', { name: 'This could not be read' }).waitFor()
  bench.server.instead.clear()
  await page.getByRole('link', { name: 'n-3' }).waitFor()
})

test('without a session the page tells how to sign in and shows nothing else', async () => {
  bench.server.instead.set('/api/session', { status: 401, message: 'no session' })
  const page = await bench.open('#/pipeline')
  await page.getByRole('heading', { name: 'You are not signed in' }).waitFor()
  expect(await page.getByRole('navigation').count()).toBe(0)
  expect(bench.server.asked.filter((a) => a.includes('/api/topic/'))).toEqual([])
})

test('a server that is away and comes back: the page tells so, keeps its picture, and misses no change', async () => {
  const page = await bench.open('#/home', { isStill: false })
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  await bench.server.stop()
  await page.getByText('Offline since').waitFor()
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  // A change that no browser receives.
  bench.server.send(
    {
      topic: 'home',
      head: { ...headOf(bench.server.topics.get('home')), sentence: 'Nothing needs attention.', needsAttention: 0 },
      set: [],
      removed: [],
    },
    NOW,
  )
  await bench.server.start()
  await page.getByRole('heading', { name: 'Nothing needs attention.' }).waitFor()
  await page.getByText('Offline since').waitFor({ state: 'detached' })
})

test('a stream that is never answered, as over a connection that died in sleep, is an outage and is opened again', async () => {
  const page = await bench.open('#/home', { isStill: false })
  await page.clock.install()
  bench.server.instead.set('/events', 'Hangs')
  await page.reload()
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  await page.clock.runFor(1_000)
  await expect.poll(() => bench.server.asked.filter((a) => a.includes('/events')).length).toBeGreaterThan(0)
  await page.clock.runFor(21_000)
  await page.getByText('Offline since').waitFor()
  bench.server.instead.clear()
  await page.clock.runFor(11_000)
  await page.getByText('Offline since').waitFor({ state: 'detached' })
})

test('ages and ends are those of the clock of the server, also where the clock of the browser is months off', async () => {
  bench.server.session = {
    ...bench.server.session,
    clusters: bench.server.session.clusters.map((c) => ({ ...c, holds: ['MachineComponentSet'] })),
  }
  const page = await bench.open('#/rollouts/prod/base', { isStill: false })
  await page
    .getByText(/^3m ago/)
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Hold: set base' }).click()
  expect(await page.getByLabel('Ends').inputValue()).toBe('2026-01-31T16:00')
})

test('another start of the console at the same address is no outage: the page tells to open its link', async () => {
  const page = await bench.open('#/home', { isStill: false })
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  bench.server.instead.set('/', { status: 421, code: 'WrongHost', message: 'the Host header names another server' })
  await bench.server.stop()
  await page.getByText('If the console was started again, open the link that it printed.').waitFor()
  await bench.server.start()
  await page.getByText('Signed out').waitFor()
  await page.getByText('Run kubenode console again and open the link that it prints.').waitFor()
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
})

test('a cluster that does not answer is shown as it was, with its age, or named as not shown', async () => {
  const { session } = bench.server
  const message = 'the cluster does not answer'
  bench.server.session = {
    ...session,
    clusters: session.clusters.map((c) =>
      c.name === 'prod'
        ? { ...c, state: 'Unreachable', message, answeredAt: NOW - 240_000 }
        : c.name === 'test'
          ? { ...c, state: 'Unreachable', message, topics: [] }
          : c,
    ),
  }
  const page = await bench.open('#/rollouts/prod/base')
  await page.getByText('Not current: prod').waitFor()
  await page
    .getByText(
      'The cluster does not answer. What you see of it was read before, and it answered last at 11:56:00 (4m ago).',
    )
    .waitFor()
  await page.getByText('Not shown: test').waitFor()
  await page.getByRole('heading', { name: 'Rollout of base' }).waitFor()
})

test('a cluster that is removed while its view is open ends that view alone, and comes back with the cluster', async () => {
  const page = await bench.open('#/home', { isStill: false })
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  const other = await page.context().newPage()
  await other.goto(`${bench.server.url}/#/rollouts/prod/base`)
  await other.getByRole('heading', { name: 'Rollout of base' }).waitFor()
  await expect.poll(() => bench.server.asked.filter((a) => a.includes('set%2Fprod%2Fbase')).length).toBeGreaterThan(0)
  const set = bench.server.topics.get('set/prod/base')
  bench.server.topics.delete('set/prod/base')
  bench.server.sendBye({ reason: 'SessionEnded' })
  await other.getByRole('heading', { name: 'This does not exist' }).waitFor()
  await page.getByText('Offline since').waitFor({ state: 'detached' })
  bench.server.change<HomeTopic>('home', (home) => ({ ...home, head: { ...home.head, sentence: 'All changed.' } }))
  await page.getByRole('heading', { name: 'All changed.' }).waitFor()
  if (set !== undefined) bench.server.topics.set('set/prod/base', set)
  bench.server.sendRaw('event: session\ndata: {}\n\n')
  await other.getByRole('heading', { name: 'This does not exist' }).waitFor({ state: 'detached' })
  await other.getByRole('heading', { name: 'Rollout of base' }).waitFor()
})

test('a view of something that does not exist yet is there once it does', async () => {
  const set = bench.server.topics.get('set/prod/base')
  bench.server.topics.delete('set/prod/base')
  const page = await bench.open('#/rollouts/prod/base', { isStill: false })
  await page.clock.install()
  await page.reload()
  await page.getByRole('heading', { name: 'This does not exist' }).waitFor()
  if (set !== undefined) bench.server.topics.set('set/prod/base', set)
  await page.clock.runFor(16_000)
  await page.getByRole('heading', { name: 'This does not exist' }).waitFor({ state: 'detached' })
})

test('a stream that ends so that a proxy tells again who asks is no failure', async () => {
  const page = await bench.open('#/home', { isStill: false })
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  await page.evaluate(
    `new MutationObserver(() => { window.wasOffline ||= document.body.innerText.includes('Offline') }).observe(document.body, { subtree: true, childList: true, characterData: true })`,
  )
  bench.server.sendBye({ reason: 'AskAgain' })
  await expect.poll(() => bench.server.asked.filter((a) => a.includes('/events')).length).toBe(2)
  bench.server.change<HomeTopic>('home', (home) => ({ ...home, head: { ...home.head, sentence: 'All changed.' } }))
  await page.getByRole('heading', { name: 'All changed.' }).waitFor()
  expect(await page.evaluate('window.wasOffline')).not.toBe(true)
})

test('a page that gave its place to a newer one says why, asks for nothing, and continues when a person wants it', async () => {
  const page = await bench.open('#/home', { isStill: false })
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  await page.getByRole('heading', { name: 'Latest changes' }).waitFor()
  await expect.poll(() => streamOf('pipeline')).toBe(true)
  const before = streamsAsked()
  bench.server.sendBye({ reason: 'TooManyStreams', message: TOO_MANY })
  await page.getByText('You have this console open in more than 16 browsers.').waitFor()
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  expect(streamsAsked()).toBe(before)
  await page.getByRole('button', { name: 'Continue here' }).click()
  await page.getByText('Paused').waitFor({ state: 'detached' })
  expect(bench.server.streams).toBe(1)
})

test('a topic that arrives after a page gave up its place does not take the place back', async () => {
  bench.server.instead.set('/api/topic/pipeline', { status: 503, message: 'not yet' })
  const page = await bench.open('#/home', { isStill: false })
  await page.clock.install()
  await page.reload()
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  await page.clock.runFor(1_000)
  await expect.poll(() => streamOf('home')).toBe(true)
  const before = streamsAsked()
  bench.server.sendBye({ reason: 'TooManyStreams', message: TOO_MANY })
  await page.getByText('Paused').waitFor()
  bench.server.instead.clear()
  await page.clock.runFor(4_000)
  await page.getByRole('heading', { name: 'Latest changes' }).waitFor()
  await page.clock.runFor(1_000)
  await page.getByRole('button', { name: 'Continue here' }).click()
  await page.clock.runFor(1_000)
  await page.getByText('Paused').waitFor({ state: 'detached' })
  await expect.poll(() => streamOf('pipeline')).toBe(true)
  expect(streamsAsked()).toBe(before + 1)
})

test('another page that a user opens in a browser which gave up its place takes a place for both', async () => {
  const page = await bench.open('#/clusters', { isStill: false })
  await page.getByRole('heading', { name: 'Clusters', level: 1 }).waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  bench.server.sendBye({ reason: 'TooManyStreams', message: TOO_MANY })
  await page.getByText('Paused').waitFor()
  const other = await page.context().newPage()
  await other.goto(`${bench.server.url}/#/repairs/prod`)
  await other.getByRole('link', { name: 'n-3' }).waitFor()
  for (const tab of [page, other]) await tab.getByText('Paused').waitFor({ state: 'detached' })
  await expect.poll(() => bench.server.streams).toBe(1)
})

test('the latest changes are read beside the rest of Home, so that one stream has both', async () => {
  bench.server.instead.set('/api/topic/home', 'Hangs')
  await bench.open('#/home', { isStill: false })
  await expect.poll(() => bench.server.asked.some((a) => a.includes('/api/topic/pipeline'))).toBe(true)
})

test('a page for which there is no place shows its views, says why it is not live, and tries again', async () => {
  const message = '500 people follow this console; wait until one of them closes the page'
  bench.server.instead.set('/events', { status: 503, code: 'TooManyStreams', message })
  const page = await bench.open('#/home', { isStill: false })
  await page.getByText(message).waitFor()
  await page.getByRole('heading', { name: '2 things need attention' }).waitFor()
  bench.server.instead.clear()
  await page.getByText(message).waitFor({ state: 'detached' })
})

test('a program that is away, and a part that may not be read, are on the home with what helps', async () => {
  const text = 'the Defender is away: no permit is granted, so disruptions do not begin'
  const gap = 'cluster/test is known in part: not included: releases; you lack the right to read them'
  const ofCluster = (name: string) => ({ cluster: name, kind: 'Cluster', name })
  bench.server.change<HomeTopic>('home', (t) => ({
    ...t,
    head: { ...t.head, sentence: `1 thing needs attention: ${text} (prod)`, needsAttention: 1, waits: 0, unknown: 1 },
    rows: [
      {
        id: 'a',
        cause: 'program/defender',
        object: ofCluster('prod'),
        weight: 'Act',
        rank: 0,
        text,
        since: NOW - 240_000,
        lift: { text: 'kubenode check', isCommand: true },
        runbook: 'docs/operations/three-in-the-morning.md',
      },
      { id: 'b', cause: 'b', object: ofCluster('test'), weight: 'Unknown', rank: 3, text: gap },
    ],
  }))
  const page = await bench.open('#/home')
  await page.getByRole('heading', { level: 1, name: text }).waitFor()
  const acts = page.getByRole('region', { name: 'Needs attention' })
  await acts.getByText('kubenode check --context prod').waitFor()
  await acts.getByText('docs/operations/three-in-the-morning.md').waitFor()
  expect(await acts.innerText()).toContain('4m')
  await page.getByRole('region', { name: 'Not known' }).getByText(gap).waitFor()
})

test('the first line is green only for what is known and of now', async () => {
  const head = { sentence: 'Nothing needs attention.', needsAttention: 0, waits: 0, unknown: 0 }
  const put = (more: Partial<HomeTopic['head']>) =>
    bench.server.change<HomeTopic>('home', (t) => ({ ...t, head: { ...t.head, ...head, ...more }, rows: [] }))
  put({})
  const page = await bench.open('#/home', { isStill: false })
  const good = page.locator('.verdict.good')
  await good.waitFor()
  await expect.poll(() => bench.server.streams).toBe(1)
  await bench.server.stop()
  await page.getByText('Offline since').waitFor()
  await good.waitFor({ state: 'detached' })
  put({ unknown: 1 })
  await bench.server.start()
  await page.getByText('Offline since').waitFor({ state: 'detached' })
  await page.locator('.verdict.wait').waitFor()
  await good.waitFor({ state: 'detached' })
})

const headOf = (snapshot: unknown): object => (snapshot as { readonly head: object }).head

test('a gate that did not pass in time is said in the stage, one that is still closed only at the gate', async () => {
  const asked = 'approved by 0 of 1 (group release-board)'
  const late = `gate release-board did not pass within 1h: ${asked}`
  const waits = (predicate: string, seen: string) =>
    bench.server.change<PipelineTopic>('pipeline', (t) => ({
      ...t,
      rows: t.rows.map((row) =>
        row.row === 'Stage' && row.name === 'prod' ? { ...row, wait: { predicate, seen } } : row,
      ),
    }))
  waits('GateClosed', `gate release-board: ${asked}`)
  const page = await bench.open('#/pipeline', { isStill: false })
  await page.getByText(asked, { exact: true }).waitFor()
  expect(await page.getByText(`gate release-board: ${asked}`).count()).toBe(0)
  waits('GateFailed', late)
  await page.getByText(late, { exact: true }).waitFor()
})

test('what a person may not do is not drawn', async () => {
  const page = await bench.open('#/rollouts/prod/base')
  await page.getByRole('heading', { name: 'Rollout of base' }).waitFor()
  expect(await page.getByRole('button', { name: 'Hold' }).count()).toBe(0)
  bench.server.session = {
    ...bench.server.session,
    clusters: bench.server.session.clusters.map((c) => ({ ...c, topics: ['home', 'machines'], holds: [] })),
  }
  await page.reload()
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  expect(await page.getByRole('navigation', { name: 'Views' }).getByRole('link').allInnerTexts()).toEqual(
    expect.not.arrayContaining([expect.stringContaining('Pipeline')]),
  )
})

test('the last day of a node moves on while its page is open', async () => {
  const page = await bench.open('#/node/prod/n-3')
  await page.getByRole('heading', { name: 'The last day' }).waitFor()
  const ends = (): readonly number[] =>
    bench.server.asked
      .filter((text) => text.includes('/api/life?'))
      .map((text) => Number(new URLSearchParams(text.slice(text.indexOf('?'))).get('to')))
  expect(ends()).toHaveLength(1)
  await page.clock.setFixedTime(NOW + 600_000)
  // A move within the view redraws it.
  await page.keyboard.press('w')
  await expect.poll(ends).toContain((ends()[0] ?? 0) + 600_000)
  await page.getByRole('heading', { name: 'The last day' }).waitFor()
})
