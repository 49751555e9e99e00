import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { withHubHint } from './hub-hint.ts'

const withSources = (list: () => Promise<unknown>) => ({ list: list as KubeClient['list'] })

test('a server without sources is named as not the hub; the hub and a user without the right read the text alone', async () => {
  const member = withSources(() => Promise.resolve({ items: [], resourceVersion: '1' }))
  expect(await withHubHint(member, 'no releases')).toMatch(
    /^no releases; this server has no FleetSource, .* --context$/,
  )
  const hub = withSources(() => Promise.resolve({ items: [{}], resourceVersion: '1' }))
  expect(await withHubHint(hub, 'no releases', 'no releases yet')).toBe('no releases yet')
  const forbidden = withSources(() => Promise.reject(new Error('forbidden')))
  expect(await withHubHint(forbidden, 'no releases')).toBe('no releases')
})
