// A version file that is broken after a standby started, and before it leads.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { silentLogger } from '#lib/log.ts'
import { systemClock } from '#lib/system-clock.ts'
import { PARTS } from '#api/constructs/control-plane/settings.ts'
import { hostsOf } from './hosts.ts'
import { versionFile } from './version-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-versions-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const images = Object.fromEntries(PARTS.map((part) => [part, `registry.example.org/${part}@sha256:${'ab'.repeat(32)}`]))
const listOf = (version: string): string =>
  JSON.stringify({ versions: [{ version, etcd: '3.6.6', emulatesFrom: 33, images }] })

test('a standby leads with the last valid rows, reports the mistake, and takes the file again once it is mended', async () => {
  const file = join(folder, 'versions.json')
  writeFileSync(file, listOf('1.35.2'))
  const versions = versionFile(file)
  writeFileSync(file, '{')

  const problems: unknown[] = []
  const log = { ...silentLogger, warn: (_: string, fields?: unknown) => void problems.push(fields) }
  const client = {} as KubeClient
  const [host] = await hostsOf({ versions }, { client, clock: systemClock, log, connect: () => client })
  expect(host?.capabilities.minors).toEqual(['1.35'])
  expect(problems).toEqual([{ problem: expect.stringMatching(/^KN1462: .*versions\.json: it is no JSON/) as string }])

  writeFileSync(file, listOf('1.36.2'))
  expect(host?.capabilities.minors).toEqual(['1.36'])
  expect(problems).toHaveLength(1)
})
