print("firn")
