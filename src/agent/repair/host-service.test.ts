import { expect, test } from 'vitest'
import type { UnitState } from '../supervise/systemd/systemctl.ts'
import { isLeftToHost, type ComponentRecord } from '../components/record.ts'
import { restartHostService } from './host-service.ts'

const UNIT: UnitState = {
  unit: 'containerd.service',
  load: 'loaded',
  active: 'active',
  sub: 'running',
  mainPid: 7,
  restarts: 0,
  result: 'success',
  file: 'enabled',
  path: '/lib/systemd/system/containerd.service',
  needsReload: false,
  exitStatus: 0,
  hasMemoryLimit: false,
}

async function restarted(service: string, state: Partial<UnitState>, isStopped = false) {
  const runs: string[] = []
  const systemctl = {
    show: () => Promise.resolve([{ ...UNIT, ...state }]),
    run: (...args: readonly string[]) => Promise.resolve(void runs.push(args.join(' '))),
  }
  return { result: await restartHostService(systemctl, service, () => isStopped), runs }
}

test.each<[string, string, Partial<UnitState>, boolean, unknown, readonly string[]]>([
  ['a runtime that runs', 'containerd', {}, false, { kind: 'Done' }, ['restart -- containerd.service']],
  [
    'one that is stopped in the middle',
    'containerd',
    {},
    true,
    { kind: 'Done' },
    ['kill --kill-who=main -s SIGKILL -- containerd.service', 'restart -- containerd.service'],
  ],
  [
    'one that failed',
    'kubelet',
    { active: 'failed', mainPid: 0 },
    false,
    { kind: 'Done' },
    ['reset-failed -- kubelet.service', 'restart -- kubelet.service'],
  ],
  [
    'one that a user stopped',
    'kubelet',
    { active: 'inactive', mainPid: 0 },
    false,
    { kind: 'Failed', message: 'kubelet.service was stopped by a user or a program' },
    [],
  ],
  ['a time service', 'chrony', {}, false, { kind: 'Done' }, ['restart -- chrony.service']],
  ['one that is not there', 'crio', { load: 'not-found' }, false, undefined, []],
  ['any other service of the host', 'sshd', {}, false, undefined, []],
])('%s', async (_, service, state, isStopped, result, runs) => {
  expect(await restarted(service, state, isStopped)).toEqual({ result, runs })
})

const slot = { id: 'a-0', digest: 'a', version: '1' }
test.each<[string, Pick<ComponentRecord, 'current' | 'open'> | undefined, boolean]>([
  ['no component', undefined, true],
  ['a component that is only staged, as in a preview', {}, true],
  ['a component that is switched for the first time', { open: {} as NonNullable<ComponentRecord['open']> }, false],
  ['a component', { current: slot }, false],
])('the host repairs its own service: %s', (_, record, isHosts) => {
  expect(isLeftToHost(record)).toBe(isHosts)
})
