// What keeps permits from being granted: open breakers, the brake of the fleet, missing approvals. Pure.
import { purposeOfPermit } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { isInForce, stopKey } from '#sync/brake/stops.ts'
import { liftCommand, stopText } from '../brake.ts'
import { unblockOf } from '../unblock.ts'
import { peopleSentence } from '../ways-out.ts'
import { bounded, commandStep, type FleetFinding, finding, objectIn } from './finding.ts'
import type { ObservedCluster } from './observed.ts'

export const breakerFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  (cluster.list('ledgers')[0]?.spec.breakers ?? []).flatMap(({ policy, state, since, failures }) =>
    state !== 'Open'
      ? []
      : [
          finding(objectIn(cluster.name, 'DefenderPolicy', { name: policy }), {
            weight: 'Act',
            urgency: 'Blocked',
            text: `the breaker of policy ${policy} is open after ${counted(failures, 'failure')}: only recoveries are granted`,
            since,
            first: unblockOf(peopleSentence('BreakerOpen', `policy/${policy}`) ?? ''),
          }),
        ],
  )

/** For the hub alone: the copies in the clusters repeat it. */
export const brakeFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  cluster.list('brakes').flatMap(({ metadata, spec }) =>
    spec.cluster !== undefined
      ? []
      : (spec.stops ?? []).filter(isInForce).map((stop) =>
          finding(objectIn(cluster.name, 'FleetBrake', metadata), {
            weight: 'Act',
            urgency: 'Stopped',
            part: stopKey(stop),
            text: stopText(stop),
            since: stop.since,
            first: commandStep(liftCommand(stop)),
          }),
        ),
  )

export const permitFindings = (cluster: ObservedCluster): readonly FleetFinding[] =>
  bounded(
    cluster.list('permits').flatMap(({ metadata, spec, status }) => {
      const shut = [...(status?.gates ?? []), ...(status?.verdicts ?? [])].find(
        (v) => v.gate === 'Approval' && v.verdict === 'Waiting',
      )
      if (shut === undefined || status?.phase !== 'Requested') return []
      const object = objectIn(cluster.name, 'OperationPermit', metadata)
      return [
        finding(object, {
          weight: 'Act',
          urgency: 'Waiting',
          text: `the permit for ${purposeOfPermit(spec)} needs an approval${shut.seen === undefined ? '' : `: ${shut.seen}`}`,
          since: metadata.creationTimestamp,
          first: commandStep(`kubenode approve operationpermit/${object.name} --reason WHY`),
        }),
      ]
    }),
    'permits that need an approval',
  )
