import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Layout, layoutOf } from './layout.ts'
import { programsOf, writeClusters } from './programs.ts'

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
    'hub: sync,defender,cluster',
    'test: controllers,defender',
    'prod: controllers,defender',
  ])
  expect(rolesIn('approvers')).toEqual(['test: approver', 'prod: approver'])
  for (const group of [...groups('programs', clusters), ...groups('approvers', clusters)])
    for (const [, role = '', file = ''] of group.matchAll(/--kubeconfig (\w+)=(\S+)/g))
      expect(file).toBe(join(layout.root, valueOf(group, '--cluster') ?? '', `${role}.kubeconfig`))
})

test('only the group with controllers knows hosts, only the one with sync the repository, only the one with clusters their host', () => {
  const [hub = '', only = ''] = groups('programs', ['only'])
  expect([valueOf(hub, '--local-repository'), valueOf(only, '--local-repository')]).toEqual([
    join(layout.root, 'fleet'),
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
