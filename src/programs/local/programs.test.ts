import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Layout, layoutOf } from './layout.ts'
import { programsOf, writeClusters, writeProviders } from './programs.ts'

let layout: Layout
beforeEach(() => void (layout = layoutOf(mkdtempSync(join(tmpdir(), 'kubenode-programs-')))))
afterEach(() => rmSync(layout.root, { recursive: true, force: true }))

/** The options of each cluster: that of the hub from the arguments, the others from the file that the process follows. */
function groups(process: string, clusters: readonly string[]): readonly string[] {
  writeClusters(layout, clusters)
  const args = programsOf(layout).find((p) => p.name === process)?.args ?? []
  const [own = '', file = ''] = args
    .join(' ')
    .replace(/^run /, '')
    .split(/ ?--follow /)
  const followed = JSON.parse(readFileSync(file, 'utf8')) as readonly (readonly string[])[]
  return [...(own === '' ? [] : [own]), ...followed.map((entry) => entry.join(' '))]
}
const valueOf = (group: string, option: string): string | undefined => new RegExp(`${option} (\\S+)`).exec(group)?.[1]

test('all clusters share two processes, each role with the identity of its own cluster', () => {
  const clusters = ['test', 'prod']
  expect(programsOf(layout).map((p) => p.name)).toEqual(['programs', 'approvers'])
  const rolesIn = (name: string) =>
    groups(name, clusters).map((g) => `${valueOf(g, '--cluster')}: ${valueOf(g, '--roles')}`)
  expect(rolesIn('programs')).toEqual([
    'hub: sync,defender,cluster,history',
    'test: controllers,defender,history',
    'prod: controllers,defender,history',
  ])
  expect(rolesIn('approvers')).toEqual(['test: approver', 'prod: approver'])
  for (const group of [...groups('programs', clusters), ...groups('approvers', clusters)])
    for (const [, role = '', file = ''] of group.matchAll(/--kubeconfig (\w+)=(\S+)/g))
      expect(file).toBe(join(layout.root, valueOf(group, '--cluster') ?? '', `${role}.kubeconfig`))
})

test('only the group with controllers knows hosts, only the one with sync the repository, only the one with clusters their host', () => {
  const [hub = '', only = ''] = groups('programs', ['only'])
  expect([valueOf(hub, '--local-repository'), valueOf(only, '--local-repository')]).toEqual([
    join(layout.root, 'repository'),
    undefined,
  ])
  expect([valueOf(hub, '--providers'), valueOf(only, '--providers')]).toEqual([
    undefined,
    join(layout.root, 'only/providers.json'),
  ])
  expect([valueOf(hub, '--control-planes'), valueOf(only, '--control-planes')]).toEqual([
    layout.controlSocket,
    undefined,
  ])
})

describe('the providers file of a cluster', () => {
  const file = () => layout.cluster('test').providers
  const written = (text: string): string => {
    mkdirSync(join(layout.root, 'test'), { recursive: true })
    writeFileSync(file(), text)
    writeProviders(layout, 'test', 'process')
    return readFileSync(file(), 'utf8')
  }
  const process = { name: 'process', options: { dir: layoutOf('/').cluster('test').nodes } }

  test('keeps at every start the providers that a person added, and has its driver once', () => {
    const racks = { name: 'remote', options: { name: 'racks', socket: '/run/racks.sock' }, orphans: 'Report' }
    const twice = JSON.parse(written(written(JSON.stringify({ providers: [racks, process] })))) as unknown
    const own = { name: 'process', options: { dir: layout.cluster('test').nodes } }
    expect(twice).toEqual({ providers: [own, racks] })
  })

  test.each(['{ "providers": [', '[]', '', 'providers: racks'])('stays where it is no such list: %s', (text) => {
    expect(written(text)).toBe(text)
  })
})
