import { expect, test } from 'vitest'
import { LINK_MS, Sessions, type SignedIn } from '#console/server/sessions.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { LINK_LEFT_MS, renewLink } from './renew-link.ts'

const person: SignedIn = {
  person: { name: 'admin', groups: [], how: 'Link' },
  identity: 'admin',
  clientOf: () => undefined,
}
const MINUTE_MS = 60_000

test.each([0, 1, 8, 9, 10, 59, 600])(
  '%i minutes after the start, the link on the screen opens for as long as a person needs to type it',
  async (minutes) => {
    const clock = new VirtualClock()
    const sessions = new Sessions(clock)
    const ended = new AbortController()
    const links = [sessions.newLink(person)]
    const renewing = renewLink(() => links.push(sessions.newLink(person)), LINK_MS, { clock, signal: ended.signal })
    await clock.advance(minutes * MINUTE_MS)
    const shown = links.at(-1) ?? ''
    await clock.advance(LINK_LEFT_MS - 1_000)
    expect(sessions.useLink(shown)).toBe(person)
    expect(sessions.useLink(shown)).toBeUndefined()
    ended.abort()
    await renewing
    const { length } = links
    await clock.advance(2 * LINK_MS)
    expect(links).toHaveLength(length)
  },
)
