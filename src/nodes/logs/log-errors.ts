// The numbered errors of a log that is asked of an agent.
import { errorTable } from '#lib/error-table.ts'

export const logErrors = errorTable({
  KN1642: {
    text: 'cannot ask the agent of machine {machine} for a log: {why}',
    next: 'see kubenode why machine/{machine}; on the host itself the log is in the journal of its unit, or in the logs folder of the node',
  },
  KN1642_silent: {
    text: 'cannot show the log: the agent of machine {machine} did not answer within {waited}',
    next: 'the agent may be older than this command, or busy; see kubenode why machine/{machine}',
  },
  KN1642_component: {
    text: 'cannot show the log of {component} on machine {machine}: {why}',
    next: 'see kubenode why machine/{machine}',
  },
  KN1644: {
    text: 'cannot show the log: the controllers did not pass the request on to machine {machine} within {waited}',
    next: 'check that the controllers run (kubenode check), or wait while other requests are answered (kubenode get logrequests)',
  },
  KN1449_logDeleted: {
    text: 'cannot show the log: the request was deleted while the answer was incomplete',
    next: 'ask for the log again',
  },
})
