// The numbered errors of kubenode run and of the kubeconfigs of all commands.
import { errorTable } from '#lib/error-table.ts'

export const runErrors = errorTable({
  KN1301: {
    text: 'cannot read the kubeconfig {file}{origin}: {why}',
    next: 'correct the path, or name another file with --kubeconfig FILE',
  },
  KN1302: {
    text: 'cannot tell hosts how to trust {server}: the kubeconfig names no certificate authority',
    next: 'add certificate-authority-data',
  },
  KN1002_role: {
    text: 'cannot run the role {r}',
    next: 'use one of {roleNames}',
  },
  KN1024_hosts: {
    text: 'cannot give {path} to hosts: it is not a valid trust document',
    next: 'make one with kubenode artifact keys trust',
  },
  KN1002_webhookPort: {
    text: 'cannot serve the webhook on port {webhookPort}: not a number from 0 to {maxPort}',
    next: '0 takes a free one',
  },
  KN1002_address: {
    text: 'cannot listen at the address of {option}: {text} is not an IP address with a port',
    next: 'give one such as 0.0.0.0:8081 or [::]:8081',
  },
  KN1307: {
    text: 'cannot run the role {role}: {why}',
    next: 'run it with a kubeconfig of {identity}, or bind this user to the roles of that name (deploy/install/2-rbac.yaml)',
  },
  KN1002_sharedPort: {
    text: 'cannot serve metrics of {roles} on port {port}: it is one port',
    next: 'run each role as a process of its own, or leave --metrics-port out',
  },
  KN1002_metricsPort: {
    text: 'cannot serve metrics on port {port}: give a number from 0 to {maxPort}',
    next: '0 takes a free one',
  },
  KN1312: {
    text: 'cannot choose a cluster: no kubeconfig is named, {home} names no cluster, and no local fleet runs around this folder',
    next: 'name one with --kubeconfig FILE or KUBECONFIG',
  },
  KN1312_fleet: {
    text: "cannot choose a cluster: no kubeconfig is named, {home} names no cluster, and the local fleet of this folder does not run or is another user's",
    next: 'start it with kubenode local up, or name a kubeconfig with --kubeconfig FILE or KUBECONFIG',
  },
  KN1002_twoClusters: {
    text: 'cannot choose a cluster: {first} and {second} are both there',
    next: 'name one: {option} or {other}',
  },
  KN1002_service: {
    text: 'cannot serve the webhook for --webhook-service {service}',
    next: 'give NAMESPACE/NAME of the Service, and no --webhook-host',
  },
  KN1002_metricsPair: {
    text: 'cannot serve metrics with half of a certificate',
    next: 'give both --metrics-tls-cert and --metrics-tls-key, or neither',
  },
  KN1002_hostServer: {
    text: 'cannot use --host-server {url}: not an https address',
    next: 'give one such as https://api.example.org:6443',
  },
  KN1320: {
    text: 'cannot run {roles} with one identity ({files}): a thief of it would have the powers of all of them',
    next: 'give each role its own: --kubeconfig {expected}; or accept it with --shared-identity',
  },
  KN1321: {
    text: 'cannot use the kubeconfig of role {role}: this process runs {roles}',
    next: 'leave it out, or add the role to --roles',
  },
  KN1321_two: {
    text: 'cannot use {file}: {role} has another kubeconfig already',
    next: 'give one kubeconfig for each role',
  },
  KN1321_none: {
    text: 'cannot run the role {role}: it has no kubeconfig, and this process does not run in a pod',
    next: 'add --kubeconfig {role}=FILE',
  },
  KN1002_cluster: {
    text: 'cannot tell the name of this cluster: in a pod there is no kubeconfig whose context would name it',
    next: 'add --cluster NAME, as the hub calls it',
  },
  KN1002_life: {
    text: 'cannot read --certificate-life {text}',
    next: 'give a duration from 1h to 365d, such as 7d',
  },
  KN1002_renderImage: {
    text: 'cannot render in Jobs of the cluster: --render-image names no image (seen: {seen})',
    next: 'give --render-image the reference of the image that this program runs from, or render in a process with --render process, where the machine allows namespaces',
  },
  KN1002_placement: {
    text: 'cannot use --render-placement {seen}: it is no JSON of nodeSelector and tolerations, each with a key',
    next: 'write nodeSelector and tolerations as in the settings of an installation, as one line of JSON (kubenode run --help shows an empty one)',
  },
  KN1002_artifacts: {
    text: 'cannot serve artifacts: {what}',
    next: 'correct the options of role artifacts; kubenode run --help lists them',
  },
  KN1329: {
    text: 'cannot use {file} as the authority of artifacts: {why}',
    next: 'give --artifact-ca a file with certificates in PEM',
  },
  KN1367: {
    text: 'cannot use --join-script {value}: it is no SHA-256 in hexadecimal digits',
    next: 'give the one that kubenode agent bundle prints for join.sh',
  },
  KN1002_gitAllow: {
    text: 'cannot allow the git server {host}: it is no HOST or HOST:PORT',
    next: 'write the host as in the address of the repository: --git-allow git.example.org,localhost:3000',
  },
  KN1002_inspections: {
    text: 'cannot let inspections ask {url}',
    next: 'write an origin such as http://prometheus.monitoring:9090',
  },
  KN1002_repositorySize: {
    text: 'cannot use --max-repository {seen}: it is a number of MiB from 16 to {limit}',
    next: 'give a number, such as 1024',
  },
  KN1002_roles: {
    text: 'cannot run without roles: --roles is not given',
    next: 'give --roles LIST, such as --roles controllers; or --follow FILE, whose clusters name theirs',
  },
  KN1002_follow: {
    text: 'cannot read the clusters to run from {file}: {why}',
    next: 'write a list of lists of options, each as after -- of kubenode run: [["--roles","defender","--kubeconfig","FILE"]]',
  },
  KN1002_planes: {
    text: 'cannot run role cluster without a host of control planes',
    next: 'give --control-planes SOCKET, the --control-socket of kubenode apiserver, or --control-plane-versions FILE',
  },
  KN1002_inClusters: {
    text: 'cannot deploy the programs of {file} into Clusters: {why}',
    next: 'kubenode install or upgrade of the hub writes the file',
  },
  KN1358: {
    text: 'the {what} for {server} expired at {at}, {ago} ago',
    next: 'get a new kubeconfig: that of the local fleet from the next npm start, of kubeadm from kubeadm certs renew admin.conf, of a provider from its login command',
  },
  KN1446: {
    text: '{left} of {all} parts of this process did not end within {seconds} s of the first',
    next: 'the process exits, and its supervisor starts it again; its log names the part that failed first',
  },
  KN1002_history: {
    text: 'cannot run role history without a folder to write into',
    next: 'give --history FOLDER (docs/operations/history.md)',
  },
  KN1002_hosted: {
    text: 'cannot run role hosted: --hosted names no program that it runs',
    next: 'give --hosted one of {programs}',
  },
  KN1002_hostedNumber: {
    text: 'cannot use {option} {text}: it is a whole number from {least} to {most}',
    next: 'correct it, or leave it out',
  },
  KN1002_console: {
    text: 'cannot run role console without its file',
    next: 'give --console-config FILE (docs/operations/console.md)',
  },
})
