// The numbered errors of sync: one range for the whole part, in a table for each of its steps.
import { errorTable } from '#lib/error-table.ts'
import { gitErrors } from './git/git-errors.ts'
import { renderErrors } from './render/render-errors.ts'
import { trustErrors } from './trust/trust-errors.ts'

const deliveryErrors = errorTable({
  KN3094_applied: {
    text: 'cannot apply {object}: {why}, and the cluster does not list it for git',
    next: 'if a commit may declare it, grant sync the verb {verb} on {resource} of API group {group}, resource name {name}{where}; see docs/operations/security.md',
  },
  KN3090_namespace: {
    text: 'cannot apply {object}: namespaces of Kubernetes, KubeNode and control planes (kube-*, kubenode-*, kc-*, default) are not declared in git',
    next: 'remove it from the fleet',
  },
  KN3090_renderNamespace: {
    text: 'cannot apply {object}: namespace kubenode-render is where sync renders commits, and no commit declares anything there',
    next: 'remove it from the fleet, or give it another namespace',
  },
  KN7301: {
    text: 'cannot connect to cluster {id}: it has no kubeconfig yet',
    next: 'retried automatically once its Secret has one',
  },
  KN7301_secret: {
    text: 'cannot connect to cluster {id}: the Secret {namespace}/{ref} {detail}',
    next: 'put the kubeconfig there',
  },
  KN3096_connect: {
    text: 'cannot connect to cluster {id}: the Secret {namespace}/{ref} is not for this cluster',
    next: 'name the Secret {expected}, or annotate it with {annotation}: {id}',
  },
  KN7305: {
    text: 'cannot connect to cluster {id}: its control plane is not ready yet',
    next: 'retried automatically once it is; kubenode cluster show names what it waits for',
  },
  KN7307: {
    text: 'cannot read ReleasePipeline {pipeline} as it was before the commit, at {commit}: {why}',
    next: 'a commit does not choose its own gates, so the release waits; push another commit on top, or restore the history of the branch',
  },
  KN7308: {
    text: 'cannot read {kind} of the cluster: it returned more than {most}',
    next: 'no cluster has as many; check its API server, and who may write there',
  },
  KN1524_beside: {
    text: 'cannot follow FleetSource {source} beside {other}: {missing} has no spec.writes',
    next: 'list in spec.writes of each source the kinds and namespaces that it may write',
  },
  KN7402: {
    text: 'cannot follow FleetSource {source}: it replaces {other}, which still exists',
    next: 'delete that one, or remove it from spec.replaces',
  },
  KN7403: {
    text: 'spec.writes of FleetSource {source} lacks {missing}',
    next: 'add it there, or remove the object from the fleet',
  },
})

export const syncErrors = { ...gitErrors, ...trustErrors, ...renderErrors, ...deliveryErrors }
