// What an observed machine is, according to its Node: boot, platform, kubelet and container runtime. Pure. Nothing was asked of the host.
import type { ComponentStatus, Machine } from '#api/kinds/machine.ts'
import { defined } from '#lib/defined.ts'
import { COMPONENT_NAME_PATTERN, COMPONENT_VERSION_PATTERN } from '#lib/names.ts'
import { timestamp } from '#lib/clock.ts'
import { type Node, isNodeReady } from '#nodes/objects.ts'
import type { Seen } from '../seen.ts'

type Status = NonNullable<Machine['status']>

const text = (v: unknown, most: number): string | undefined =>
  typeof v === 'string' && v !== '' ? v.slice(0, most) : undefined

export function mirroredHost(node: Node | undefined): Pick<Status, 'bootID' | 'platform'> {
  const info = node?.status?.nodeInfo
  if (info === undefined) return {}
  const bootID = text(info.bootID, 64)
  const os = text(info['osImage'], 128)
  const arch = text(info['architecture'], 32)
  const kernel = text(info['kernelVersion'], 128)
  return {
    ...defined({ bootID }),
    platform: defined({ os, arch, kernel }),
  }
}

const NAME = new RegExp(COMPONENT_NAME_PATTERN)
const VERSION = new RegExp(COMPONENT_VERSION_PATTERN)

/** `v1.34.2` or `containerd://2.1.4`, as a component with that name. */
function found(node: Node): readonly { readonly name: string; readonly version: string }[] {
  const { kubeletVersion, containerRuntimeVersion } = node.status?.nodeInfo ?? {}
  const kubelet = text(kubeletVersion, 128)?.replace(/^v/, '')
  const [runtime = '', version = ''] = (text(containerRuntimeVersion, 128) ?? '').split('://', 2)
  return [
    { name: runtime, version },
    { name: 'kubelet', version: kubelet ?? '' },
  ].filter((c) => NAME.test(c.name) && VERSION.test(c.version))
}

export function mirroredComponents(
  { machine, node }: Pick<Seen, 'machine' | 'node'>,
  now: number,
): readonly ComponentStatus[] {
  if (node === undefined) return []
  const state = isNodeReady(node) ? 'Healthy' : 'Degraded'
  return found(node).map(({ name, version }) => {
    const before = machine.status?.components?.find((c) => c.name === name)
    const isSame = before?.version === version && before.state === state
    return { name, version, state, since: isSame ? before.since : timestamp(now) }
  })
}
