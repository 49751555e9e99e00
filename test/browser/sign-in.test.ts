// Signing in with a real browser: what other servers of this machine learn, and how people come in and go out where there are no links.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '#console/server/page-files.ts'
import { type ConsoleWorld, consoleWorld } from '#test/support/console/console-world.ts'
import { Browser } from '#test/support/console/plain-browser.ts'
import { useBench } from './browser.ts'

const bench = useBench()
let world: ConsoleWorld

beforeAll(async () => {
  world = await consoleWorld()
})
afterAll(() => (world as ConsoleWorld | undefined)?.stop())

/** A server of another user of this machine, which writes down the cookies that browsers send to it. */
async function listening() {
  const cookies: string[] = []
  const server = createServer((request, response) => {
    cookies.push(request.headers.cookie ?? '')
    expect(request.headers['x-kubenode-page']).toBeUndefined()
    response.end('hello')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, cookies, stop: () => new Promise((resolve) => server.close(resolve)) }
}

test('a browser sends no cookie of the console to another server of this machine (S35)', async () => {
  const [running, thief] = [await world.console(new Map([['test', world.admin]]), 0, readPage()), await listening()]
  const link = running.newLink()
  const page = await bench.open('', { isStill: false, url: link })
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  for (const host of ['127.0.0.1', 'localhost']) await page.goto(`http://${host}:${thief.port}/`)
  expect(thief.cookies.join('')).toBe('')
  await page.goto(new URL(link).origin)
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  await thief.stop()
})

test('at 127.0.0.1 the cookie reaches other servers, and opens nothing for them (S35)', async () => {
  const [running, thief] = [await world.console(new Map([['test', world.admin]]), 0, readPage()), await listening()]
  const link = new URL(running.newLink())
  const page = await bench.open('', { isStill: false, url: `http://127.0.0.1:${link.port}${link.pathname}` })
  await page.getByRole('navigation', { name: 'Views' }).waitFor()
  expect(page.url()).not.toContain('page=')
  await page.goto(`http://127.0.0.1:${thief.port}/`)
  expect(thief.cookies.join('')).toContain('kubenode-console-')
  const answer = await new Browser(running.port).ask('/api/session', { headers: { cookie: thief.cookies[0] ?? '' } })
  expect(answer.status).toBe(401)
  // Another tab of the person has the secret, too.
  await page.goto(`http://127.0.0.1:${link.port}/#/machines/test`)
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  expect(bench.errors).toEqual([])
  await thief.stop()
})
