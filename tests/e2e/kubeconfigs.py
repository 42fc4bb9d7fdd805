"""Changes for Cluster.make_kubeconfig: kubeconfigs that are wrong in one way, or another account's."""
import base64


def set_token(token):
    def change(_cluster, user, _config):
        user.clear()
        user["token"] = token
    return change


def set_server(url):
    return lambda cluster, _user, _config: cluster.update(server=url)


def set_authority(pem):
    return lambda cluster, _user, _config: cluster.update({"certificate-authority-data": base64.b64encode(pem).decode()})
