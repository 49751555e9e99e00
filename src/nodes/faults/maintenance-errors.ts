// The numbered errors of kubenode maintenance.
import { errorTable } from '#lib/error-table.ts'

export const maintenanceErrors = errorTable({
  KN1002_reasonTooLong: {
    text: 'cannot plan work with a reason of {count} characters',
    next: 'write at most {most}',
  },
  KN1325_maintenance: {
    text: 'cannot plan work on {what}',
    next: 'name machines as machine/NAME or node/NAME, or one place as rack/NAME or zone/NAME',
  },
  KN1002_planned: {
    text: 'cannot read the time {text} of {option}',
    next: 'write a time such as 2026-02-01T02:00:00Z, or for --until a duration after --from, such as 2h',
  },
  KN1002_plannedEnd: {
    text: 'cannot plan work until {until}: it would be over before it begins or before now',
    next: 'write an end that is after --from and after now',
  },
  KN1313_machines: {
    text: 'cannot plan work on {what}: no Machine is there',
    next: 'list the machines with kubenode get machines -o wide',
  },
  KN1684: {
    text: 'cannot plan work on {count} machines at once',
    next: 'plan smaller places, at most {most} machines each',
  },
  KN1685: {
    text: 'cannot {verb} {name}: {source} announced it, and only {source} ends it',
    next: 'run kubenode why maintenanceevent/{name}',
  },
  KN1685_begun: {
    text: 'cannot cancel {name}: the work has begun',
    next: 'run kubenode maintenance done {name} when it is over',
  },
  KN1002_tooLong: {
    text: 'cannot plan work until {until}: that is longer than {days} days, and repairs stand off all the time',
    next: 'write an earlier end; work that takes longer is planned again before it is over',
  },
  KN1002_maintenanceReason: {
    text: 'cannot plan work without a reason: everyone who meets the drained nodes reads it',
    next: 'write why: --reason "a new disk"',
  },
  KN1002_past: {
    text: 'cannot plan work from {from}: that time is over, and the node could not be drained before it',
    next: 'leave out --from to have the node drained now, and begin when it is drained; or write a later time',
  },
})
