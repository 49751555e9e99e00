// The numbered errors of install, check, upgrade and uninstall.
import { errorTable } from '#lib/error-table.ts'

export const installErrors = errorTable({
  KN1401: {
    text: 'the API server is {version}, KubeNode needs Kubernetes 1.32 or newer',
    next: 'upgrade the control plane first',
  },
  KN2403_install: {
    text: 'you may not {what}{more}',
    next: 'run this as a cluster administrator, or ask for these rights',
  },
  KN1403: {
    text: 'the API server does not serve {what}',
    next: 'remove it from --runtime-config of kube-apiserver: the rights of KubeNode programs depend on it',
  },
  KN1404: {
    text: 'no certificate came from signer {signer}: {why}',
    next: 'let kube-controller-manager sign (--cluster-signing-cert-file and --cluster-signing-key-file); or where the provider does not sign (such as EKS), install with agents.identity: serviceAccount',
  },
  KN1437: {
    text: 'the API server accepts no bootstrap tokens: {why}',
    next: 'hosts join with them: start kube-apiserver with --enable-bootstrap-token-auth, or install with agents.identity: serviceAccount',
  },
  KN1405: {
    text: 'customresourcedefinition {name} is not of KubeNode: {why}',
    next: 'delete it, with all its objects, or use another cluster: KubeNode does not replace the definitions of others; where its policies guard deletions, kubectl annotate it with kubenode.io/uninstalling=true first',
  },
  KN1406: {
    text: 'objects of {name} are stored in version {stored}, which this release no longer has',
    next: 'install a release between the two first; it rewrites them',
  },
  KN1407: {
    text: '{ready} of {total} take ordinary pods; {needed}',
    next: '{remedy}',
  },
  KN1408: {
    text: 'the clock of this machine and that of the API server are {seconds} s apart (limit 5 s)',
    next: 'synchronize both clocks; leases and certificates depend on them',
  },
  KN1408_leader: {
    text: 'the clock of the program that leads for {role} and that of the API server are {seconds} s apart (limit 5 s)',
    next: 'synchronize the clock of the machine that it runs on; holds, windows, and waits before the next request for a permit depend on it',
  },
  KN1409: {
    text: 'the agents of {count} machines are {versions} (first: {first}), and this release works with agents at most two minor versions apart',
    next: 'bring these agents to a newer version first',
  },
  KN1410: {
    text: 'other programs repair nodes of this cluster: {names}',
    next: 'switch their repairs off, or accept that both act on the same node with --ignore remediators',
  },
  KN1411: {
    text: 'namespace {namespace} is in use by others: {what}',
    next: 'move these objects away; only KubeNode runs there, because its accounts live there',
  },
  KN1442: {
    text: 'namespace {namespace} is still being deleted: {why}',
    next: 'wait until it no longer exists, then run the command again; where something holds it, kubectl get namespace {namespace} -o yaml names it',
  },
  KN1442_webhook: {
    text: 'namespace {namespace} is still being deleted: {why}',
    next: 'its deletion does not end by itself, because the Defender that answers this webhook was deleted with it; run kubectl delete validatingwebhookconfigurations kubenode.io, then this command again; an installation registers the webhook again',
  },
  KN1412: {
    text: 'persistentvolumeclaim {claim} gets no volume: {why}',
    next: '{remedy}',
  },
  KN1413: {
    text: 'the cluster refuses the pods of {workload}: {why}',
    next: 'exempt namespace {namespace} from that policy, or adapt the pods with --values',
  },
  KN1414: {
    text: 'the image of {pod} cannot be pulled: {image}: {why}',
    next: 'check --image and --registry, and that the nodes can reach the registry; then run the command again',
  },
  KN1415: {
    text: 'KubeNode runs in namespace {namespace} of this cluster as well ({workload})',
    next: 'remove that installation first: two would fight over the same objects',
  },
  KN1406_versions: {
    text: 'cannot go from version {from} to {to}: {why}',
    next: 'go through the releases in between, one after the other',
  },
  KN1417: {
    text: 'checks failed: {names}; nothing was changed',
    next: 'correct these, then run the command again',
  },
  KN1418: {
    text: 'waited {seconds} s for {what}: {why}',
    next: 'run kubenode check, then run the command again; it continues where this one ended',
  },
  KN1419: {
    text: '{object} is managed by {managers}: {fields}',
    next: 'change it there, or hand it over to KubeNode by removing it from that tool',
  },
  KN1420: {
    text: 'the API server refused {object}: {why}',
    next: 'correct this, then run the command again; it continues where this one ended',
  },
  KN1002_flag: {
    text: 'cannot use {flag}: {why}',
    next: 'see kubenode {command} --help',
  },
  KN1422: {
    text: 'KubeNode is not installed in this cluster',
    next: 'run kubenode check --pre, then kubenode install',
  },
  KN1423: {
    text: 'cannot ask for confirmation: this is not a terminal',
    next: 'give --yes {name} to confirm that this is the cluster',
  },
  KN1423_given: {
    text: 'not confirmed: {given} is not the name of this cluster',
    next: 'run the command again and give {name}',
  },
  KN1425: {
    text: '{count} permits are still granted after {seconds} s: {first}',
    next: 'wait until these operations finish and run the command again, or end now with --now',
  },
  KN1432_keepsEnding: {
    text: 'a container of {pod} keeps ending: {why}',
    next: 'read its log with kubectl logs -n {namespace} {pod} --previous, then run the command again',
  },
  KN1428: {
    text: 'version {version} is installed; this program is {own}',
    next: 'run kubenode upgrade to change the version, or use the program of the installed version',
  },
  KN1429: {
    text: 'cannot read {what}: {why}',
    next: 'check the connection and your rights, then run the command again',
  },
  KN1430: {
    text: 'no program leads for {roles}',
    next: 'read the logs with kubectl logs -n {namespace} deployment/{first}',
  },
  KN1431: {
    text: 'the webhook of the Defender does not answer: {why}',
    next: 'the API server must reach service {service}; check network policies and kubectl logs -n {namespace} deployment/kubenode-defender',
  },
  KN1432: {
    text: 'not ready: {why}',
    next: 'kubectl -n {namespace} describe replicasets,pods shows why',
  },
  KN1433: {
    text: 'cannot use these settings: {why}',
    next: 'example: kubenode install --cluster hub --roles hub --image registry.example.org/kubenode@sha256:…; docs/operations/install/settings.md lists all settings',
  },
  KN1002_check: {
    text: 'there is no check named {name}',
    next: 'give --ignore some of: {known}',
  },
  KN1435: {
    text: 'check {name} cannot be ignored: objects of others would be lost or replaced',
    next: 'correct what kubenode check --pre reports about it',
  },
  KN1436: {
    text: 'NetworkPolicies have no effect in this cluster: {plugins} does not enforce them',
    next: 'every pod reaches the ports of KubeNode and pods that render commits reach the network; add a plugin that enforces them, or accept it',
  },
  KN1439: {
    text: 'webhook kubenode.io is registered, but these settings have none: guarded deletions, approvals of agents and their events are refused',
    next: 'run kubenode install, which removes it, once the pods of the Defender are replaced',
  },
  KN1443: {
    text: 'the API server listens on port {closed}, and NetworkPolicies let programs reach {open} only',
    next: 'list its addresses with this port as networkPolicies.apiServers in --values',
  },
  KN1438: {
    text: '{object} cannot be changed into what this version needs: {why}',
    next: 'these fields never change: delete the object with {command}, then run the command again; it makes the object and continues',
  },
  KN1444: {
    text: '{object} was changed after the installation: {how}',
    next: '{remedy}; docs/operations/security.md says who may change it',
  },
  KN1445: {
    text: '{pods} pods mount persistentvolumeclaim {claim}, and its access mode is {mode}: only the pods of one node, or one pod, can',
    next: 'use a claim with ReadOnlyMany or ReadWriteMany, or install with --replicas 1',
  },
  KN1448: {
    text: 'this cluster is installed as {before}, and these settings call it {now}; nothing was changed',
    next: 'name the context of {now}, or correct cluster in the settings; --rename gives {before} the other name',
  },
  KN1449: {
    text: 'this run lost its turn: {why}',
    next: 'run the command again; it waits for a run that has not ended, and continues',
  },
  KN1449_begun: {
    text: '{what} was begun in this cluster and did not end',
    next: '{remedy}',
  },
  KN1451: {
    text: 'these name a provider that the controllers do not serve, and get no host: {what}; served: {served}',
    next: 'correct the name in git, or configure the provider for the controllers: docs/operations/providers.md',
  },
  KN1452: {
    text: 'this release would remove {count} of the {total} objects of this installation (limit {limit})',
    next: 'check --values and --roles, and kubenode install --diff; if they are to be removed, --ignore removals',
  },
  KN1453: {
    text: '{count} of flavor {flavor} would run on with no host for them: {names}',
    next: 'keep the setting {setting}, or delete them first; with --ignore flavors they run on, and nothing of them is upgraded or deleted until the setting is back',
  },
  KN1454: {
    text: 'controlPlanes.kubernetes.versions has no row of the version that these run: {names}',
    next: 'put the row back until they have another version; with --ignore flavors they run on, and nothing of them is changed until the row is back',
  },
  KN1430_processes: {
    text: 'no program leads for {roles}; the programs of this cluster run as processes, without Deployments',
    next: 'where npm start runs: kubenode local status, then logs/programs.log in its folder .kubenode; elsewhere start kubenode run with --roles {flag} again',
  },
  KN1431_process: {
    text: 'the webhook of the Defender does not answer: {why}',
    next: 'the process with role defender serves it; the API server must reach the address in its --webhook-host',
  },
})
