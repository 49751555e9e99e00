import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type Flow, SealedFlows } from './flow.ts'

const flow = (n = 0): Flow => ({
  state: `s-${n}`,
  nonce: 'n',
  verifier: 'v',
  back: 'https://console/oidc/back',
  to: '#/home',
})

test('a flow is opened once, by the process that sealed it', () => {
  const flows = new SealedFlows(new VirtualClock())
  const sealed = flows.seal(flow())
  expect(new SealedFlows(new VirtualClock()).open(sealed)).toBeUndefined()
  expect(flows.open(sealed)).toEqual(flow())
  expect(flows.open(sealed)).toBeUndefined()
})

test('a flow ends after ten minutes', async () => {
  const clock = new VirtualClock()
  const flows = new SealedFlows(clock)
  const [early, late] = [flows.seal(flow(1)), flows.seal(flow(2))]
  await clock.advance(599_999)
  expect(flows.open(early)).toEqual(flow(1))
  await clock.advance(1)
  expect(flows.open(late)).toBeUndefined()
})

test('what was changed, cut or made up is no flow, and shows nothing of one', () => {
  const flows = new SealedFlows(new VirtualClock())
  const sealed = flows.seal(flow())
  const bytes = Buffer.from(sealed, 'base64url')
  expect(bytes.toString('latin1')).not.toContain('s-0')
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(flows.open(changed.toString('base64url'))).toBeUndefined()
    expect(flows.open(bytes.subarray(0, at).toString('base64url'))).toBeUndefined()
  }
  for (const text of ['', 'x', '%%%', 'A'.repeat(4_000)]) expect(flows.open(text)).toBeUndefined()
  expect(flows.open(sealed)).toEqual(flow())
})

test('a cookie with the longest address of a view and of the page is one that browsers keep', () => {
  const longest = { ...flow(), back: `https://${'a'.repeat(253)}:65535/oidc/back`, to: `#/${'x'.repeat(2_046)}` }
  const secret = 'x'.repeat(43)
  const sealed = new SealedFlows(new VirtualClock()).seal({
    ...longest,
    state: secret,
    nonce: secret,
    verifier: secret,
  })
  expect(sealed.length).toBeLessThan(4_000)
})
