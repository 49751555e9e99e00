// After an installation a user learns where hosts download from and which CA they verify, and programs are not reported as running before they do.
import { expect, test } from 'vitest'
import { newAuthority } from '#lib/x509/certificates.ts'
import { releaseOf } from './load.ts'
import { nextSteps } from './next-steps.ts'

const image = `registry.example.org/kubenode@sha256:${'a'.repeat(64)}`
const both = {
  cluster: 'prod-1',
  image,
  apiServer: { url: 'https://api.prod-1.example.org:6443' },
  artifacts: { source: { oci: image }, address: 'artifacts.prod-1.example.org:30844' },
}

test('a cluster with nodes: address, how to get the authority, and its fingerprint once there is one', async () => {
  const release = await releaseOf(both)
  const ca = newAuthority('kubenode-artifacts-ca', { now: Date.now(), days: 1 }).certificate
  const before = nextSteps(release, { isReady: false }).join('\n')
  expect(before).toMatch(/^KubeNode .* is applied; its programs are starting$/m)
  expect(before).toMatch(/from https:\/\/artifacts\.prod-1\.example\.org:30844\/ /)
  expect(before).toContain("get secret kubenode-artifacts-tls -o jsonpath='{.data.ca\\.crt}'")
  expect(before).not.toContain('fingerprint')
  const after = nextSteps(release, { isReady: true, artifactsCa: ca }).join('\n')
  expect(after).toMatch(/^KubeNode .* is installed$/m)
  expect(after).toMatch(/^to make a host a node: docs\/tasks\/first-node\.md$/m)
  expect(after).toMatch(/SHA-256 fingerprint: ([0-9A-F]{2}:){31}[0-9A-F]{2}$/m)
})

test('a hub has no artifacts', async () => {
  const release = await releaseOf({ cluster: 'hub', roles: ['hub'], image })
  expect(nextSteps(release, { isReady: true }).join('\n')).not.toMatch(/download|authority|first-node/)
})
