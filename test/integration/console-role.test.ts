// Role console with exactly the rights that are shipped for it: it reads every kind that it draws, and people read with their own.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { programUser } from '#api/names.ts'
import { CLUSTER, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'

let world: PeopleWorld

beforeAll(async () => {
  world = await peopleWorld()
  await world.allow('reader', ['*'], ['get', 'list', 'watch'])
})
afterAll(() => world.stop())

test('the shipped rights are enough for every topic', async () => {
  const { server } = world
  const { port } = await world.role(
    {},
    {
      server: server.url,
      ca: { data: server.ca },
      clientCertificate: { cert: { data: server.cert }, key: { data: server.key } },
      impersonate: { user: programUser('console'), groups: ['system:authenticated'] },
    },
  )
  const browser = world.browser(port)
  await browser.ask('/api/sign-in', { method: 'POST', body: { token: await world.tokenOf('reader') } })
  const topics = ['machines', 'sets', 'budgets', 'repairs', 'maintenance'].map((t) => `${t}/${CLUSTER}`)
  await expect.poll(async () => (await browser.session()).clusters[0]?.state).toBe('Connected')
  for (const topic of ['home', 'pipeline', 'clusters', 'commits', ...topics])
    expect((await browser.topic(topic)).topic).toBe(topic)
})
