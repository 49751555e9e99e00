// Judges an existing installation: its workloads, leaders, clocks, providers and webhook, and what was altered or deleted since. Pure.
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { someOf } from '#lib/some-of.ts'
import { installErrors } from '../install-errors.ts'
import { failed, passed, warned, type Finding } from './finding.ts'
import { type Judge, MAX_SKEW_MS, MOST_NAMED, named, read } from './judging.ts'
import type { CheckSeen } from './seen.ts'
import type { UnendedRun } from './unended-run.ts'

/** Reports nothing if all agree: the check of this machine's clock covers that. */
const programClocks = ({ clocks }: NonNullable<CheckSeen['running']>): readonly Finding[] =>
  read('clock', clocks, (all) =>
    all
      .filter(({ apartMs }) => apartMs >= MAX_SKEW_MS)
      .map(({ role, apartMs }) =>
        failed('clock', installErrors.KN1408_leader({ role, seconds: Math.round(apartMs / 1_000) })),
      ),
  )

const REMEDY_OF = {
  install: 'run kubenode install, or kubenode upgrade, with its settings again: it continues where that run ended',
  uninstall: 'run kubenode uninstall again, or kubenode install to keep KubeNode',
} as const

function runFinding(run: UnendedRun | undefined): Finding | readonly Finding[] {
  if (run === undefined) return []
  if (run.kind === 'Running') return warned('run', `${run.by} is running; what follows may change until it ends`)
  const what = run.verb === 'install' ? 'an installation or upgrade' : 'an uninstall'
  return failed('run', installErrors.KN1449_begun({ what, remedy: REMEDY_OF[run.verb] }))
}

const lostFindings = ({ lost }: NonNullable<CheckSeen['running']>): readonly Finding[] =>
  lost === undefined
    ? []
    : read('policies', lost, (all) =>
        all.length === 0
          ? passed('policies', 'all are as installed')
          : all.map((a) => failed('policies', installErrors.KN1444(a))),
      )

export const running: Judge = ({ running: now, installed }) => {
  if (now?.processes !== undefined) return runningProcesses(now)
  // Nothing can run; the version check reports that once.
  if (now === undefined || ('value' in installed && installed.value.installed === undefined)) return []
  return [
    ...(now.run === undefined ? [] : read('run', now.run, runFinding)),
    ...read('workloads', now.unready, (unready) =>
      unready.length === 0
        ? passed('workloads', 'all are ready')
        : failed('workloads', installErrors.KN1432({ why: named(unready), namespace: SYSTEM_NAMESPACE })),
    ),
    ...read('workloads', now.altered, (altered) => altered.map((a) => failed('workloads', installErrors.KN1444(a)))),
    ...lostFindings(now),
    ...read('leaders', now.leaderless, (roles) =>
      roles.length === 0
        ? passed('leaders', 'each role has one')
        : failed(
            'leaders',
            installErrors.KN1430({
              roles: roles.join(', '),
              namespace: SYSTEM_NAMESPACE,
              first: `kubenode-${roles[0]}`,
            }),
          ),
    ),
    ...programClocks(now),
    ...providers(now),
    ...(now.webhook === 'NotAsked'
      ? []
      : read('webhook', now.webhook, (why) =>
          why === undefined
            ? passed('webhook', 'reviews requests')
            : failed(
                'webhook',
                installErrors.KN1431({
                  why,
                  service: `kubenode-webhook.${SYSTEM_NAMESPACE}`,
                  namespace: SYSTEM_NAMESPACE,
                }),
              ),
        )),
    ...(now.isWebhookLeft === 'NotAsked'
      ? []
      : read('webhook', now.isWebhookLeft, (isLeft) =>
          isLeft ? failed('webhook', installErrors.KN1439()) : passed('webhook', 'none, as in the settings'),
        )),
  ]
}

const providers = ({ providers: named }: NonNullable<CheckSeen['running']>): readonly Finding[] =>
  named === undefined
    ? []
    : read('providers', named, (all) => {
        if (all === undefined) return []
        const { served, others } = all
        return others.length === 0
          ? passed('providers', `the controllers serve ${served.join(', ')}`)
          : failed('providers', installErrors.KN1451({ what: someOf(others, MOST_NAMED), served: served.join(', ') }))
      })

/** Processes have no pod logs here, and no Service leads to the webhook. */
const runningProcesses = (now: NonNullable<CheckSeen['running']>): readonly Finding[] => [
  ...programClocks(now),
  ...providers(now),
  ...lostFindings(now),
  ...read('leaders', now.leaderless, (roles) =>
    roles.length === 0
      ? passed('leaders', 'each role has one')
      : failed('leaders', installErrors.KN1430_processes({ roles: roles.join(', '), flag: roles.join(',') })),
  ),
  ...(now.webhook === 'NotAsked'
    ? []
    : read('webhook', now.webhook, (why) =>
        why === undefined
          ? passed('webhook', 'reviews requests')
          : failed('webhook', installErrors.KN1431_process({ why })),
      )),
]
