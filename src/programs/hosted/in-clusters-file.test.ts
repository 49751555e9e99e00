import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { IN_CLUSTER } from '#api/names.ts'
import { inClustersFile } from './in-clusters-file.ts'

test('the file is parsed once for each change, and a mistake ends with the next change', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-in-clusters-'))
  try {
    const file = join(folder, 'objects.json')
    const read = inClustersFile(file)
    expect(read).toThrow(/KN1002: cannot deploy .*ENOENT/)
    writeFileSync(file, '[]')
    const first = read()
    expect(first).toEqual([])
    expect(read()).toBe(first)
    writeFileSync(file, '[{"kind":"ClusterRole"}]')
    expect(read).toThrow(/ClusterRole.*is not part of the programs/)
    expect(read).toThrow(/ClusterRole/)
    writeFileSync(file, '[ ]')
    expect(read()).toEqual([])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the authority of the artifact servers is put in, as a whole value', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-in-clusters-'))
  try {
    const file = join(folder, 'objects.json')
    const secret = (ca: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: 'kubenode-system', name: 'kubenode-config' },
      data: { 'ca.pem': ca, other: 'x' },
    })
    writeFileSync(file, JSON.stringify([secret(Buffer.from(IN_CLUSTER.artifactsAuthority).toString('base64'))]))
    expect(inClustersFile(file, 'UEVN')()).toEqual([secret('UEVN')])
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('without a file there are none', () => expect(inClustersFile(undefined)()).toEqual([]))
