// Signing in and out at a certified issuer (oidc-provider) with a real browser: its pages, its redirects, its cookies.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readPage } from '#console/server/page-files.ts'
import type { Clock } from '#lib/clock.ts'
import { systemClock } from '#lib/system-clock.ts'
import { CLUSTER, type PeopleWorld, peopleWorld } from '#test/support/console/people-world.ts'
import { type CertifiedIssuer, startCertifiedIssuer } from '#test/support/issuer/certified-issuer.ts'
import { useBench } from './browser.ts'

const bench = useBench()
let world: PeopleWorld
let issuer: CertifiedIssuer

beforeAll(async () => {
  ;[world, issuer] = await Promise.all([peopleWorld(), startCertifiedIssuer()])
  await world.allow('group:platform', ['machines'], ['get', 'list', 'watch'])
})
afterAll(async () => {
  await (issuer as CertifiedIssuer | undefined)?.stop()
  await (world as PeopleWorld | undefined)?.stop()
})

test('a person goes from a view to the issuer and back to it, sees what the groups may, and is asked again after signing out (S35)', async () => {
  issuer.groups = ['platform']
  const { port } = await world.atIssuer(issuer, { page: readPage() })
  const origin = `https://127.0.0.1:${port}`
  issuer.register(origin)
  const page = await bench.open('', {
    isStill: false,
    url: `${origin}/#/machines/${CLUSTER}`,
    ignoreHTTPSErrors: true,
  })
  await page.getByRole('link', { name: 'Sign in at' }).click()
  await page.locator('input[name=login]').fill('ada')
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.locator('form[action*="/interaction/"] button[type=submit]').click()
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  expect(page.url()).toBe(`${origin}/#/machines/${CLUSTER}`)
  // No script of the page, and no address, has a token.
  const kept = await page.evaluate<string>(
    'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])',
  )
  expect(kept).not.toMatch(/eyJ/)
  await page.getByRole('link', { name: 'ada', exact: true }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('button[name=logout]').first().click()
  await page.getByRole('link', { name: 'Sign in at' }).waitFor()
  expect(new URL(page.url()).origin).toBe(origin)
  expect(bench.errors).toEqual([])
})

test('a browser that stays gets new tokens with the same rights, and one at a console whose clock is behind reads why it is not let in (S35)', async () => {
  issuer.groups = ['platform']
  issuer.lifeSeconds = 50
  const behind: Clock = { ...systemClock, now: () => systemClock.now() - 5 * 60_000 }
  const [{ port }, late] = [
    await world.atIssuer(issuer, { page: readPage() }),
    await world.atIssuer(issuer, { page: readPage(), clock: behind }),
  ]
  const signIn = async (origin: string) => {
    issuer.register(origin)
    const url = `${origin}/#/machines/${CLUSTER}`
    const page = await bench.open('', { isStill: false, url, ignoreHTTPSErrors: true })
    await page.getByRole('link', { name: 'Sign in at' }).click()
    await page.locator('input[name=login]').fill('ada')
    await page.locator('input[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.locator('form[action*="/interaction/"] button[type=submit]').click()
    return page
  }
  const given = issuer.given
  const page = await signIn(`https://127.0.0.1:${port}`)
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'No machines' }).waitFor()
  // One for the code; the others in its place, since it ends within a minute.
  expect(issuer.given).toBeGreaterThan(given + 1)
  const refused = await signIn(`https://127.0.0.1:${late.port}`)
  await refused.getByText('compare the clocks').waitFor()
})
